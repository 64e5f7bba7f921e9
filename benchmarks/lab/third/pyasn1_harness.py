"""pyasn1: a value decoded with and without its type, printed, and encoded by all its codecs."""

from pyasn1.codec.ber import decoder as ber
from pyasn1.codec.ber import encoder as ber_encoder
from pyasn1.codec.cer import decoder as cer
from pyasn1.codec.cer import encoder as cer_encoder
from pyasn1.codec.der import decoder as der
from pyasn1.codec.der import encoder as der_encoder
from pyasn1.codec.native import encoder as native
from pyasn1.error import PyAsn1Error
from pyasn1.type import char, constraint, namedtype, tag, univ, useful


class Record(univ.Sequence):
    componentType = namedtype.NamedTypes(  # noqa: N815
        namedtype.NamedType("id", univ.Integer().subtype(
            subtypeSpec=constraint.ValueRangeConstraint(0, 999))),
        namedtype.OptionalNamedType("at", useful.UTCTime()),
        namedtype.DefaultedNamedType("on", univ.Boolean(True)),
        namedtype.OptionalNamedType("tags", univ.SetOf(componentType=char.UTF8String())),
        namedtype.OptionalNamedType("more", univ.Any().subtype(
            explicitTag=tag.Tag(tag.tagClassContext, tag.tagFormatConstructed, 1))),
    )  # fmt: skip


def read(data: bytes) -> list[object]:
    value, rest = ber.decode(data)
    found: list[object] = [value.prettyPrint(), rest]
    for decode in (cer.decode, der.decode):
        found.append(tried(lambda decode=decode: decode(data)[0].prettyPrint()))
    for encode in (ber_encoder.encode, cer_encoder.encode, der_encoder.encode, native.encode):
        found.append(tried(lambda encode=encode: encode(value)))
    found.append(tried(lambda: ber_encoder.encode(value, defMode=False, maxChunkSize=4)))
    found.append(tried(lambda: native.encode(der.decode(data, asn1Spec=Record())[0])))
    return found


def tried(job) -> object:
    try:
        return job()
    except PyAsn1Error as e:
        return type(e).__name__
