"""Make structured inputs from choices: ``@generator``, and a library of generators.

The generators of the library make mostly valid inputs; ``erroneous`` is the probability of a
mistake in each part (.003 in the paper).
"""

from fuzztui.engines.generators.archives import Tar, Zip, gen_tar, gen_zip
from fuzztui.engines.generators.aws import (
    Item,
    S3Event,
    S3Object,
    World,
    gen_item,
    gen_s3_event,
    gen_s3_object,
)
from fuzztui.engines.generators.documents import (
    Csv,
    Json,
    Xml,
    gen_csv,
    gen_json,
    gen_value,
    gen_xml,
)
from fuzztui.engines.generators.images import (
    Pixels,
    Png,
    Ppm,
    gen_image,
    gen_pixels,
    gen_png,
    gen_ppm,
)
from fuzztui.engines.generators.scope import generator, made_by
from fuzztui.engines.generators.text import (
    gen_date,
    gen_datetime,
    gen_number,
    gen_path,
    gen_text,
    gen_timedelta,
    gen_word,
)
from fuzztui.engines.inputs.source import Rejected, Source

__all__ = [
    "Csv",
    "Item",
    "Json",
    "Pixels",
    "Png",
    "Ppm",
    "Rejected",
    "S3Event",
    "S3Object",
    "Source",
    "Tar",
    "World",
    "Xml",
    "Zip",
    "gen_csv",
    "gen_date",
    "gen_datetime",
    "gen_image",
    "gen_item",
    "gen_json",
    "gen_number",
    "gen_path",
    "gen_pixels",
    "gen_png",
    "gen_ppm",
    "gen_s3_event",
    "gen_s3_object",
    "gen_tar",
    "gen_text",
    "gen_timedelta",
    "gen_value",
    "gen_word",
    "gen_xml",
    "gen_zip",
    "generator",
    "made_by",
]
