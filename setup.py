"""What pyproject.toml cannot say: the sdist keeps the repository's symlinks (docs/house.md).

setuptools would write each of these folders twice, and a packager who patches one copy would miss
the other.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.sdist import sdist

SYMLINKS = ("fuzztui/engines", "fuzztui/sample_campaigns", "fuzztui/themes", "experiments/lab")


class SdistWithSymlinks(sdist):
    """As setuptools makes it, with the repository's symlinks in place of what they lead to."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Make the tree that the archive is written from."""
        super().make_release_tree(base_dir, files)
        for name in SYMLINKS:
            copied = Path(base_dir, name)
            shutil.rmtree(copied)
            copied.symlink_to(Path(name).readlink())


setup(cmdclass={"sdist": SdistWithSymlinks})
