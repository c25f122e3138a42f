"""The egress policy: hostile URLs and addresses are refused, ordinary ones are allowed."""

import ipaddress
import sys

import pytest

from actors.egress.policy import address_refusal, url_refusal

HOSTILE = """
http://example.com/
ftp://example.com/
file:///etc/passwd
gopher://example.com:70/
javascript:alert(1)
//example.com/
https:///path
https://
https://user@example.com/
https://user:secret@example.com/
https://:@example.com/
https://example.com@127.0.0.1/
https://example.com:0/
https://example.com:/
https://example.com:65536/
https://example.com:http/
https://example.com/#fragment
https://example.com/#
https://example.com\\@127.0.0.1/
https://exa mple.com/
https://example.com/a b
https://example.com/%%0d%%0aX: y\r
https://ex%61mple.com/
https://\uff11\uff12\uff17.\uff10.\uff10.\uff11/
https://127\u30020\u30020\u30021/
https://\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3/
https://-example.com/
https://example..com/
https://.example.com/
https://localhost/
https://LOCALHOST./
https://api.localhost:8443/
https://printer.local/
https://metadata.google.internal/computeMetadata/v1/
https://router.home.arpa/
https://intranet/
https://127.0.0.1/
https://127.0.0.1./
https://8.8.8.8./
https://127.1/
https://127.0.1/
https://2130706433/
https://0x7f000001/
https://0x7f.0.0.1/
https://0177.0.0.1/
https://017700000001/
https://127.0.0.0x1/
https://0/
https://0x/
https://example.com.0x7f/
https://00.00.00.00/
https://0.0.0.0/
https://0.1.2.3/
https://10.0.0.1/
https://010.0.0.1/
https://100.64.0.1/
https://100.100.100.200/latest/meta-data/
https://127.255.255.254/
https://168.63.129.16/machine
https://169.254.169.254/latest/meta-data/
https://172.16.0.1/
https://172.31.255.255/
https://192.0.0.192/
https://192.0.2.1/
https://192.88.99.1/
https://192.168.1.1/
https://198.18.0.1/
https://198.19.255.255/
https://198.51.100.7/
https://203.0.113.7/
https://224.0.0.1/
https://239.255.255.250/
https://240.0.0.1/
https://255.255.255.255/
https://256.1.1.1/
https://1.2.3.4.5/
https://[::]/
https://[::1]/
https://[0:0:0:0:0:0:0:1]/
https://[::127.0.0.1]/
https://[::8.8.8.8]/
https://[::ffff:127.0.0.1]/
https://[::ffff:7f00:1]/
https://[::ffff:8.8.8.8]/
https://[::ffff:0:127.0.0.1]/
https://[64:ff9b::7f00:1]/
https://[64:ff9b::8.8.8.8]/
https://[64:ff9b:1::a00:1]/
https://[100::1]/
https://[2001::1]/
https://[2001:0:7f00:1::]/
https://[2001:10::1]/
https://[2001:db8::1]/
https://[2002:7f00:1::]/
https://[2002:a9fe:a9fe::1]/
https://[3fff::1]/
https://[4000::1]/
https://[5f00::1]/
https://[fc00::1]/
https://[fd00:ec2::254]/latest/meta-data/
https://[fe80::1]/
https://[fe80::1%25eth0]/
https://[2606:4700::1111%251]/
https://[fec0::1]/
https://[ff02::1]/
https://[ff0e::1]/
https://[::1/
https://[::1]x/
https://[::1].example.com/
https://[v1.x]/
""".strip("\n").split("\n")

FINE = [
    "https://example.com",
    "https://example.com/",
    "https://EXAMPLE.com:8443/hooks?source=parley&x=%20",
    "https://example.com./hook",
    "https://hooks.example.co.uk/a/b;c=d",
    "https://xn--bcher-kva.example/hook",
    "https://my_host.example.com/",
    "https://8.8.8.8/",
    "https://1.1.1.1:443/hook",
    "https://192.0.1.1/",
    "https://172.32.0.1/",
    "https://100.128.0.1/",
    "https://[2606:4700:4700::1111]/",
    "https://[2a00:1450:4001:81b::200e]:8443/hook",
    "https://127.0.0.1.example.com/",
    "https://0x7f.example.com/",
    "https://local.example.com/",
]


@pytest.mark.parametrize("url", HOSTILE)
def test_a_hostile_url_is_refused(url: str):
    assert url_refusal(url)


@pytest.mark.parametrize("url", FINE)
def test_an_ordinary_url_is_taken(url: str):
    assert url_refusal(url) is None


def test_the_hostile_urls_are_many_and_all_different(capsys: pytest.CaptureFixture[str]):
    refused = [url for url in HOSTILE if url_refusal(url)]
    with capsys.disabled():
        sys.stdout.write(f"\n{len(refused)} of {len(HOSTILE)} hostile URLs refused\n")
    assert len(refused) == len(set(HOSTILE)) >= 60


@pytest.mark.parametrize(
    "url",
    ["http://localhost:9000/hook", "http://127.0.0.1/", "https://10.0.0.1/", "http://[::1]:8080/", "http://receiver/"],
)
def test_development_may_call_its_own_machine(url: str):
    assert url_refusal(url) is not None
    assert url_refusal(url, allow_insecure=True) is None


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "https://user@example.com/",
        "http://0.0.0.0/",
        "http://224.0.0.1/",
        "http://255.255.255.255/",
        "http://[ff02::1]/",
        "http://[::]/",
        "http://2130706433/",
        "http://0177.0.0.1/",
    ],
)
def test_development_does_not_open_what_nothing_listens_on_or_what_parsers_disagree_about(url: str):
    assert url_refusal(url, allow_insecure=True)


def test_an_address_over_the_whole_of_ipv4_is_refused_exactly_where_it_is_special():
    """Every /16 of IPv4, compared with Python's registry, which is right except for multicast and some services."""
    known_otherwise = {"192.0.0.0", "192.88.0.0", "192.31.0.0", "192.52.0.0", "192.175.0.0"}
    for high in range(2**16):
        address = ipaddress.IPv4Address(high << 16)
        if str(address) not in known_otherwise:
            expected = address.is_global and not address.is_multicast
            assert (address_refusal(address) is None) == expected, address


@pytest.mark.parametrize("text", ["", "127.1", "0x7f.0.0.1", "example.com", "1.2.3.4 ", "::g"])
def test_what_is_no_address_is_refused(text: str):
    assert address_refusal(text) == "it is not an IP address"
