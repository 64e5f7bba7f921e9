"""omegaconf: configurations of typed nodes, changed step by step, merged, resolved, converted."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import omegaconf as oc
from omegaconf import OmegaConf

from fuzztui.generators import Source, gen_path, gen_word, generator

warnings.simplefilter("ignore")  # about conversions that the next version refuses
OmegaConf.register_resolver("plus", lambda one, two: one + two)


class Level(Enum):
    LOW = 1
    HIGH = 2


@dataclass
class Limits:
    requests: int = oc.MISSING
    ratio: float | None = None
    level: Level = Level.LOW


@dataclass
class Service:
    name: str = "main"
    root: Path = Path("/srv")
    limits: Limits = field(default_factory=Limits)
    tags: list[str] = field(default_factory=list)
    ports: dict[str, int] = field(default_factory=dict)


KEYS = ["name", "root", "limits", "tags", "ports", "a", "b", "requests", "ratio", "level"]


@dataclass
class Step:
    """One change of a configuration, or one question to it."""

    kind: str
    path: str
    value: object
    flag: bool


@dataclass
class Session:
    configs: list[oc.DictConfig | Service]
    steps: list[Step]
    end: str
    mode: oc.SCMode
    flag: bool


def configure(session: Session) -> object:
    config = OmegaConf.merge(*session.configs)
    found = [take(config, step) for step in session.steps]
    if session.flag:
        OmegaConf.resolve(config)
    match session.end:
        case "yaml":
            return found, OmegaConf.to_yaml(config, resolve=session.flag)
        case "missing":
            return found, OmegaConf.missing_keys(config), config.copy() == config
    return found, OmegaConf.to_container(
        config, structured_config_mode=session.mode, enum_to_str=session.flag
    )


def take(config: Any, step: Step) -> object:
    first = step.path.partition(".")[0]
    match step.kind:
        case "select":
            return OmegaConf.select(
                config, step.path, default=step.value, throw_on_missing=step.flag
            )
        case "update":
            return OmegaConf.update(config, step.path, step.value, merge=step.flag, force_add=True)
        case "set":
            config[first] = step.value
        case "pop":
            return config.pop(first, None)
        case "dotlist":
            return config.merge_with_dotlist([f"{step.path}={step.value}"])
        case "flags":
            OmegaConf.set_struct(config, step.flag)
            OmegaConf.set_readonly(config, None if step.flag else False)
        case "ask":
            return (OmegaConf.is_missing(config, first), OmegaConf.is_interpolation(config, first),
                    OmegaConf.get_type(config, first), first in config)  # fmt: skip
        case "masked":
            return OmegaConf.masked_copy(config, [first, "name"])
        case "object":
            return OmegaConf.to_object(config)


STEPS = ["select", "select", "update", "set", "pop", "dotlist", "flags", "ask", "masked", "object"]


@generator
def gen_level(r: Source) -> Level:
    return r.choose(list(Level))


@generator
def gen_limits(r: Source) -> Limits:
    requests = r.integer(0, 99) if r.below(8) else oc.MISSING
    return Limits(requests, r.real() if r.boolean() else None, gen_level(r))


@generator
def gen_service(r: Source) -> Service:
    tags = [gen_word(r) for _ in r.more(0, 2)]
    ports = {r.choose(KEYS): r.integer(1, 65535) for _ in r.more(0, 2)}
    return Service(gen_word(r), Path(gen_path(r)), gen_limits(r), tags, ports)


def gen_key_path(r: Source) -> str:
    return ".".join(r.choose(KEYS) for _ in r.more(1, 3, continues=0.4))


def gen_interpolation(r: Source) -> str:
    forms = ["${%s}", "${.%s}", "x-${%s}", "${oc.select:%s,7}", "${plus:1,2}", "${oc.dict.keys:%s}",
             "${oc.decode:'%s'}", "${oc.create:{k:%s}}"]  # fmt: skip
    form = r.choose(forms)
    return form % gen_key_path(r) if "%s" in form else form


@generator
def gen_integer(r: Source) -> oc.IntegerNode:
    return oc.IntegerNode(r.integer(-999, 999), is_optional=r.boolean())


@generator
def gen_float(r: Source) -> oc.FloatNode:
    return oc.FloatNode(r.real(-1, 1))


@generator
def gen_string(r: Source) -> oc.StringNode:
    return oc.StringNode(gen_word(r) if r.below(4) else gen_interpolation(r))


@generator
def gen_boolean(r: Source) -> oc.BooleanNode:
    return oc.BooleanNode(r.choose([True, False, "yes", "off", None]))


@generator
def gen_file(r: Source) -> oc.PathNode:
    return oc.PathNode(Path(gen_path(r)))


@generator
def gen_enum(r: Source) -> oc.EnumNode:
    return oc.EnumNode(Level, r.choose([*Level, "LOW", None]))


@generator
def gen_list(r: Source, depth: int) -> oc.ListConfig:
    return oc.ListConfig([gen_node(r, depth - 1) for _ in r.more(0, 3, continues=0.5)])


@generator
def gen_dict(r: Source, depth: int) -> oc.DictConfig:
    return oc.DictConfig({r.choose(KEYS): gen_node(r, depth - 1) for _ in r.more(0, 5)})


LEAVES: list[Callable[[Source], object]] = [
    gen_integer, gen_float, gen_string, gen_boolean, gen_file, gen_enum, gen_limits,
]  # fmt: skip


def gen_node(r: Source, depth: int) -> object:
    if depth and r.below(4) == 0:
        return r.choose([gen_list, gen_dict])(r, depth)
    return r.choose(LEAVES)(r)


def gen_config(r: Source) -> oc.DictConfig | Service:
    return gen_service(r) if r.below(4) == 0 else gen_dict(r, 2)


@generator
def gen_step(r: Source) -> Step:
    return Step(r.choose(STEPS), gen_key_path(r), gen_node(r, r.below(2)), r.boolean())


@generator
def gen_mode(r: Source) -> oc.SCMode:
    return r.choose(list(oc.SCMode))


@generator
def gen_session(r: Source) -> Session:
    configs = [gen_config(r) for _ in r.more(1, 3, continues=0.4)]
    steps = [gen_step(r) for _ in r.more(0, 3, continues=0.5)]
    end = r.choose(["container", "missing", "yaml"])
    return Session(configs, steps, end, gen_mode(r), r.below(3) == 0)
