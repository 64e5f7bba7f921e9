"""packaging: a requirement a line, with its versions, specifiers, and markers evaluated."""

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

ENVIRONMENT = {
    "implementation_name": "cpython", "implementation_version": "3.11.7", "os_name": "posix",
    "platform_machine": "x86_64", "platform_release": "6.1", "platform_system": "Linux",
    "platform_version": "#1", "python_full_version": "3.11.7", "python_version": "3.11",
    "platform_python_implementation": "CPython", "sys_platform": "linux", "extra": "tests",
}  # fmt: skip
VERSIONS = ["0.9", "1.0", "1.0.1", "1.1a1", "1.1.dev3", "1.1.post2", "2!1.0", "2.0rc1+local.1", "3"]


def check(text: str) -> list[object]:
    return [line(one) for one in text.split("\n") if one]


def line(text: str) -> tuple[object, ...]:
    if text.startswith("="):
        try:
            version = Version(text[1:])
        except InvalidVersion as e:
            return (str(e),)
        return (str(version), version.base_version, version.is_prerelease, version > Version("1.1"))
    one = Requirement(text)
    allowed = [v for v in VERSIONS if one.specifier.contains(v)]
    return (
        str(one),
        canonicalize_name(one.name),
        allowed,
        list(one.specifier.filter(VERSIONS, prereleases=True)),
        one.marker is None or one.marker.evaluate(ENVIRONMENT),
    )
