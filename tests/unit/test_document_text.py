"""Texts of documents: HTML without tags, parts of limited size, in linear time also for hostile texts."""

import pytest

from actors.text.documents import PART_CHARS, html_text, split, text_of


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("plain", "plain"),
        ("<p>One</p><p>Two</p>", "One\n\nTwo"),
        ("<h1>Head</h1>Text", "Head\n\nText"),
        ("<ul><li>a<li>b</ul>", "a\n\nb"),
        (
            "<table><tr><th>Day</th><th>Captain</th></tr>\n <tr>\n <td>Monday\n <td> <b>Isla</b></td></tr></table>",
            "Day | Captain\n\nMonday | Isla",
        ),
        ("<tr><td></td><td>Isla</td><td><p>Iona</p></td></tr>", "Isla\n\nIona"),
        ("one<br>two<BR/>three", "one\n\ntwo\n\nthree"),
        ("a <b>bold</b> word", "a bold word"),
        ("a &amp; b &lt;c&gt; &#228; &nope;", "a & b <c> ä &nope;"),
        ("x < y and y > z", "x < y and y > z"),
        ("it's <a title='a > b'>a link</a>", "it's a link"),
        ('<a title="it\'s">x</a>', "x"),
        ("a<!-- <p>no</p> -->b", "ab"),
        ("<script>var a = '<p>no</p>';</script>yes", "yes"),
        ("<SCRIPT>no</script >yes", "yes"),
        ("<style>p {}</style>yes", "yes"),
        ("<!doctype html><html><head><title>T</title></head><body>B</body></html>", "T\n\nB"),
        ("  a \n\n b  ", "a b"),
        ("<pre>a\n  b</pre>", "a b"),
        ("a<script>never ends", "a"),
        ("a<!-- never ends", "a"),
        ("a<p never ends", "a"),
        ("&#" + "1" * 9_000 + ";", "\ufffd"),
    ],
)
def test_html_becomes_text(source: str, text: str):
    assert html_text(source) == text


@pytest.mark.parametrize(
    "piece",
    [
        "<",
        "<!--",
        "<a '",
        '<a "',
        "<a>'",
        "<script>",
        "<svg>",
        "</p",
        "&",
        " \n",
        "<b> ",
        "\n",
        " ",
        "<a b='\">",
        "\x85",
        "\u3000",
        "&emsp;",
    ],
)
def test_hostile_text_takes_no_longer_than_other_text(piece: str):
    split(text_of("text/html", piece * (500_000 // len(piece))))  # quadratic time would meet the test's time limit


def test_line_ends_are_made_one():
    assert text_of("text/plain", " a\r\nb\rc\n") == "a\nb\nc"


def test_a_text_of_up_to_two_thousand_characters_is_one_part():
    assert split("x" * PART_CHARS) == ["x" * PART_CHARS]
    assert len(split("x" * (PART_CHARS + 1))) == 2


@pytest.mark.parametrize("mark", ["\n\n", "\n", ". ", " ", ","])
def test_a_text_is_cut_at_its_best_breaks(mark: str):
    words = [f"word{number}" for number in range(1_000)]
    parts = split(mark.join(words))
    assert all(len(part) <= PART_CHARS for part in parts)
    for part in parts:
        assert all(word.strip(mark) in words for word in part.split(mark.strip() or mark) if word.strip(mark))


def test_no_character_is_lost():
    text = "ä€😀 " * 3_000
    assert "".join("".join(split(text)).split()) == "".join(text.split())
