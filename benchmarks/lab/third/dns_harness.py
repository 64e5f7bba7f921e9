"""dnspython: a message as it is on the wire, as text, and both written and read again."""

from types import SimpleNamespace

import dns.message
import dns.rdata

dns.rdata.load_all_types()
dns.message.time = SimpleNamespace(time=lambda: 1_700_000_000.0)  # of a signature that it writes


def read(data: bytes) -> list[object]:
    message = dns.message.from_wire(data, keyring=False, one_rr_per_rrset=len(data) % 2 == 1)
    text = message.to_text()
    found: list[object] = [text, str(message.rcode()), message.edns, message.ednsflags]
    for section in message.sections:
        for rrset in section:
            found += [(rrset.name.to_unicode(), rrset.ttl), [r.to_digestable() for r in rrset]]
    wire = message.to_wire(max_size=65535)
    found.append(dns.message.from_wire(wire, keyring=False) == message)
    if message.edns < 0 and message.tsig is None:  # their text cannot be read again
        found.append(dns.message.from_text(text).to_text())
    return found
