"""Which requests get in, and which addresses are served at all."""

import pytest
from skipped import needs

from fuzztui.features.jobs.tls import CERT, KEY, make_certificates
from fuzztui.tools.web.access import AccessError, WebAccess, open_access
from fuzztui.tools.web.page import page, policy

LOCAL = WebAccess("127.0.0.1", "127.0.0.1", token="secret")
HERE = "127.0.0.1:9000"


def refused(path="/secret/", hosts=(HERE,), origins=(), websocket=False, access=LOCAL):
    return access.refusal(path, hosts, origins, websocket=websocket)


@pytest.mark.parametrize("path", ["/secret/", "/secret/ws", "/secret/static/js/textual.js"])
@pytest.mark.parametrize("host", [HERE, "localhost:9000", "[::1]:9000", "LOCALHOST", "127.0.0.1:1"])
def test_the_whole_address_gets_in_also_through_a_forwarded_port(path, host):
    assert not refused(path, [host])
    assert not refused(path, [host], [f"http://{host}"], websocket=True)


@pytest.mark.parametrize(
    "path",
    ["", "/", "/ws", "/secre/", "/secrets/", "//secret/", "/x/secret/", "/SECRET/", "/\udc80/"],
)
def test_nothing_is_served_without_the_token(path):
    assert "incomplete" in refused(path)


@pytest.mark.parametrize(
    "hosts",
    [[], ["evil.example:9000"], [HERE, HERE], ["127.0.0.1.evil.example"], ["a.localhost.evil.com"],
     [""], ["@127.0.0.1@evil.example"], ["[::1"], ["10.0.0.1:9000"], ["0.0.0.0:9000"]],
)  # fmt: skip
def test_a_name_of_an_attackers_domain_is_refused(hosts):
    assert "another name" in refused(hosts=hosts)


@pytest.mark.parametrize(
    "origins",
    [["https://evil.example"], ["null"], [""], ["http://127.0.0.1:9001"], ["https://127.0.0.1:9000"],
     [f"http://{HERE}", "https://evil.example"], [f"http://{HERE}.evil.example"]],
)  # fmt: skip
@pytest.mark.parametrize("websocket", [True, False])
def test_a_page_of_another_site_is_refused(origins, websocket):
    assert "another site" in refused(origins=origins, websocket=websocket)


def test_a_websocket_without_an_origin_is_refused():
    assert "another site" in refused("/secret/ws", websocket=True)


def test_each_server_has_another_token():
    tokens = {open_access("localhost").token for _ in range(9)}
    assert len(tokens) == 9 and min(map(len, tokens)) > 40


def test_the_address_for_users():
    assert LOCAL.address(80) == "http://127.0.0.1:80/secret/"
    assert WebAccess("::1", "::1", token="t").address(1) == "http://[::1]:1/t/"


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1"])
def test_beyond_this_machine_a_certificate_is_asked_for(host):
    with pytest.raises(AccessError, match=r"--cert FILE and --key FILE"):
        open_access(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_no_address_of_all_networks(host):
    with pytest.raises(AccessError, match="every address"):
        open_access(host)


@pytest.mark.parametrize("host", ["", "no-such-host.invalid", "a" * 300, "\ud800"])
def test_what_is_no_address(host):
    with pytest.raises(AccessError, match="--host"):
        open_access(host)


def test_files_that_are_no_certificate(tmp_path):
    no = tmp_path / "no.pem"
    no.write_text("no")
    with pytest.raises(AccessError, match=r"no\.pem: no certificate with its private key"):
        open_access("localhost", no)
    with pytest.raises(AccessError, match=r"gone\.pem .*: No such file"):
        open_access("localhost", tmp_path / "gone.pem", no)
    with pytest.raises(AccessError, match="--cert FILE, which is missing"):
        open_access("localhost", None, no)


@needs("cluster")  # makes the certificate
def test_with_a_certificate_other_machines_get_in_by_its_name(tmp_path):
    make_certificates(tmp_path)
    access = open_access("192.0.2.1", tmp_path / CERT, tmp_path / KEY)
    assert access.address(5).startswith("https://192.0.2.1:5/")
    path = f"/{access.token}/ws"
    own = {"websocket": True, "access": access}
    assert not refused(path, ["192.0.2.1:5"], ["https://192.0.2.1:5"], **own)
    assert refused(path, ["192.0.2.1:5"], ["http://192.0.2.1:5"], **own)
    assert refused(path, ["192.0.2.2:5"], ["https://192.0.2.2:5"], **own)


def test_the_page_has_no_markup_of_others_and_loads_nothing_of_others():
    text = page("<script>alert(1)</script>\x1b[2J", 'ws://a/"><script>alert(2)</script>')
    assert "alert(1)</script>" not in text and "<script>alert(2)" not in text
    assert "\x1b" not in text
    assert "http://" not in text and "https://" not in text
    rules = policy(HERE)["Content-Security-Policy"]
    assert "unsafe-inline" not in rules.partition("script-src")[2].partition(";")[0]
    assert f"connect-src ws://{HERE} wss://{HERE};" in rules
