"""The driver of screens that a browser shows: ``fuzztui serve`` has started this process."""

from __future__ import annotations

from textual.drivers.web_driver import WebDriver
from textual.messages import ExitApp


class BrowserDriver(WebDriver):
    """Textual's driver for the web; the application ends with the server, however that ends."""

    def run_input_thread(self) -> None:
        """Read what the server sends; its end is that of the application."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            self.send_message(ExitApp())
