"""The page that shows the screens: a terminal and nothing else, all of it from this server."""

from __future__ import annotations

import html
from base64 import b64encode
from hashlib import sha256
from string import Template
from typing import Final

from fuzztui.kernel.base.text import visible

_FOCUS: Final = """
const waiting = setInterval(() => {
  if (document.body.classList.contains("-loaded")) {
    clearInterval(waiting);
    document.querySelector(".xterm-helper-textarea").focus();
  }
}, 20);
"""
"""Keys go to the terminal without a click on it, once textual.js has its connection."""

_HASH: Final = b64encode(sha256(_FOCUS.encode()).digest()).decode()

_PAGE: Final = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>$title</title>
<link rel="icon" href="data:,">
<link rel="preload" href="static/fonts/RobotoMono-VariableFont_wght.ttf" as="font" crossorigin>
<link rel="stylesheet" href="static/css/xterm.css">
<style>
@font-face {
  font-family: "Roboto Mono"; font-weight: 100 700;
  src: url("static/fonts/RobotoMono-VariableFont_wght.ttf");
}
body { background: #0c181f; overflow: hidden; font-family: "Roboto Mono", monospace; }
p { display: none; position: fixed; inset: 40% 0 auto; text-align: center; z-index: 9; color: #fff;
  background: #0c181f; padding: 2em; }
a { color: inherit; }
body.-closed p { display: block; }
</style>
<script src="static/js/textual.js"></script>
<script>$focus</script>
</head>
<body>
<div class="textual-terminal" data-session-websocket-url="$socket" data-font-size="15"></div>
<p>The screens are closed. <a href="">Open them again</a></p>
</body>
</html>
""")


def page(run: str, socket: str) -> str:
    """Return the page; ``socket``: the address of the websocket. Both are escaped."""
    title = html.escape(f"{visible(run)} - fuzztui")
    return _PAGE.substitute(title=title, socket=html.escape(socket), focus=_FOCUS)


def policy(host: str) -> dict[str, str]:
    """Return the headers of all answers: what pages of this server may load, and who may use them.

    ``host``: the checked header ``Host``, for browsers to which 'self' is no websocket.
    """
    return {
        "Content-Security-Policy": "default-src 'none'; font-src 'self'; "
        f"script-src 'self' 'sha256-{_HASH}'; "
        f"style-src 'self' 'unsafe-inline'; img-src data:; connect-src ws://{host} wss://{host}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
