"""Wrong passwords of a user over nodes: each tells the others of those that it has seen.

So the limit of a user holds for all places together, without a look at other nodes before an attempt. A message that is
lost, or attempts under way on several nodes at once, let a few more through.
"""

from actors.runtime.cluster.post import Post
from actors.users.attempts import PasswordAttempts

TOPIC = "wrong-password"


def share_failures(attempts: PasswordAttempts, post: Post, node: str) -> None:
    """Count failed attempts on all nodes together; before the post starts."""
    here = node.encode() + b" "

    def failed_somewhere(body: bytes) -> None:
        if not body.startswith(here):
            attempts.failed_elsewhere(body.partition(b" ")[2].decode())

    post.follow(TOPIC, failed_somewhere)
    attempts.on_failed = lambda user: post.publish(TOPIC, here + user.encode())
