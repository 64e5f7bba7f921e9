"""A user's own harness for AWS: what a world holds counts; where knowledge ends is told."""

from targets_lab import Laboratory, types_at

OURS = "fuzztui.engines.generators.aws."

APP = """
    import plainstore

    store = plainstore.client("s3")


    def handler(event, context):
        done = 0
        for record in event["Records"]:
            found = store.get_object(Key=record["s3"]["object"]["key"])
            if found["LastModified"].year == 2008:
                done += 1
        return done
"""

HARNESS = """
    import app
    from plainfixture import fill
    from fuzztui.aws import World
    from fuzztui.generators import S3Object, Source, gen_s3_event, gen_s3_object, generator


    @generator
    def gen(r: Source) -> World:
        things = [gen_s3_object(r) for _ in r.more(1, 3)]
        return World(gen_s3_event(r, things), things)


    def call(world: World):
        fill(world)
        return app.handler(world.event, None)

"""


OBJECTS = """
    import app
    from fuzztui.generators import S3Object, Source, gen_s3_object, generator


    @generator
    def gen(r: Source) -> list[S3Object]:
        return [gen_s3_object(r)]


    def call(objects):
        event = {"Records": [{"s3": {"object": {"key": o.key}}} for o in objects]}
        return app.handler(event, None)
"""


def test_a_worlds_event_and_what_it_holds_are_types(lab: Laboratory) -> None:
    lab.write({"app.py": APP, "harness.py": HARNESS})
    document = lab.study(function="harness:call", generator="harness:gen", include=("app",))
    found = types_at(document, "app.py:10:then")
    assert found[f"{OURS}S3Event"] < found[f"{OURS}World"]
    held = found[f"{OURS}World"] + 1
    assert found[f"{OURS}S3Object"] <= held
    assert found[f"{OURS}Item"] == held


def test_objects_that_the_event_is_made_of(lab: Laboratory) -> None:
    lab.write({"app.py": APP, "harness.py": OBJECTS})
    document = lab.study(function="harness:call", generator="harness:gen", include=("app",))
    assert set(types_at(document, "app.py:10:then")) == {f"{OURS}S3Object"}


def test_a_library_without_types_is_named(lab: Laboratory) -> None:
    lab.write({"app.py": APP, "harness.py": HARNESS})
    document = lab.study(function="harness:call", include=("app",))
    (note,) = (n for n in document.notes if "without types" in n)
    assert "plainstore" in note
    assert "engine.aliases" in note
    assert "pip install" not in note  # nobody knows of stubs


def test_stubs_that_are_known_are_named(lab: Laboratory) -> None:
    lab.study("import json\nimport boto3\nimport yaml\n\ndef entry(n: int): pass\n")
    document = lab.study("import json\nimport boto3\n\ndef entry(n: int): pass\n")
    (note,) = (n for n in document.notes if "without types" in n)
    assert note.startswith("without types: boto3. ")
    assert "boto3-stubs" in note
    assert not lab.study("import json\n\ndef entry(n: int): pass\n").notes
