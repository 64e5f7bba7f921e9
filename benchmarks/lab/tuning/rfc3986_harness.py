"""rfc3986: a URI taken apart, normalised, resolved and validated."""

import rfc3986
from rfc3986 import builder, exceptions, validators

BASE = rfc3986.uri_reference("http://user@host.example:8080/a/b/c/d;p?q")
VALID = (
    validators.Validator()
    .allow_schemes("http", "https", "ftp")
    .require_presence_of("scheme", "host")
    .check_validity_of("scheme", "userinfo", "host", "port", "path", "query", "fragment")
)


def check(text: str) -> list[object]:
    uri = rfc3986.uri_reference(text)
    found: list[object] = [tuple(uri), uri.normalize().unsplit(), uri.is_absolute()]
    found += [uri.resolve_with(BASE).unsplit(), rfc3986.is_valid_uri(text, require_scheme=True)]
    for part in (uri.authority_info, lambda: VALID.validate(uri)):
        try:
            found.append(part())
        except exceptions.RFC3986Exception as e:
            found.append(f"{type(e).__name__}: {e}")
    found.append(builder.URIBuilder.from_uri(uri).extend_path("x").finalize().unsplit())
    return found
