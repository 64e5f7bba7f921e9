"""pypika: a statement from typed terms, in one of several dialects of SQL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import pypika as pk
import pypika.analytics as an
import pypika.functions as fn
from pypika.dialects import SnowflakeQuery
from pypika.enums import JoinType
from pypika.queries import QueryBuilder
from pypika.terms import AnalyticFunction, Function, Term, ValueWrapper

from fuzztui.generators import Source, gen_date, gen_word, generator

DIALECTS: list[type[pk.Query]] = [
    pk.Query, pk.ClickHouseQuery, pk.MSSQLQuery, pk.MySQLQuery, pk.OracleQuery, pk.PostgreSQLQuery,
    pk.RedshiftQuery, SnowflakeQuery, pk.SQLLiteQuery, pk.VerticaQuery,
]  # fmt: skip


@dataclass
class Joined:
    """A table or a subquery that is joined, how, and on what."""

    item: pk.Table | QueryBuilder
    how: JoinType
    on: pk.Criterion


@dataclass
class Statement:
    kind: str
    dialect: type[pk.Query]
    table: pk.Table
    columns: list[Term]
    joins: list[Joined]
    where: pk.Criterion | None
    groups: list[pk.Field]
    orders: list[tuple[Term, pk.Order]]
    limit: int | None
    flag: bool


def write(s: Statement) -> object:
    query = built(s)
    return str(query), query.get_sql(quote_char=None), query.fields_(), query.is_aggregate


def built(s: Statement) -> QueryBuilder:
    fields = [c for c in s.columns if isinstance(c, pk.Field)]
    match s.kind:
        case "insert":
            query = s.dialect.into(s.table).columns(*s.groups).insert(*s.columns)
            return query.ignore() if s.flag else query
        case "update":
            query = s.dialect.update(s.table)
            for column, value in zip(s.groups, s.columns, strict=False):
                query = query.set(column, value)
            return query.where(s.where) if s.where is not None else query
        case "delete":
            query = s.dialect.from_(s.table).delete()
            return query.where(s.where) if s.where is not None else query
    query = s.dialect.from_(s.table).select(*s.columns)
    for joined in s.joins:
        query = query.join(joined.item, joined.how).on(joined.on)
    if s.where is not None:
        query = query.where(s.where)
    if s.groups:
        query = query.rollup(*s.groups) if s.kind == "rollup" else query.groupby(*s.groups)
        query = query.having(fn.Count("*") > 1) if s.flag else query
    for term, order in s.orders:
        query = query.orderby(term, order=order)
    if s.limit is not None:
        query = query.limit(s.limit).offset(s.limit * 2)
    query = query.distinct() if s.flag else query
    match s.kind:
        case "union":
            return query.union(s.dialect.from_(s.table).select(*s.columns)).orderby(*fields)
        case "with":
            return s.dialect.with_(query, "sub").from_(s.table).select("*")
        case "sub":
            return s.dialect.from_(query).select(query.star, *fields)
        case "replace":
            return query.replace_table(s.table, pk.Table("other")).for_update()
    return query


KINDS = ["select", "rollup", "union", "with", "sub", "replace", "insert", "update", "delete"]


@generator
def gen_table(r: Source) -> pk.Table:
    alias = gen_word(r) if r.below(3) == 0 else None
    schema = gen_word(r) if r.below(4) == 0 else None
    return pk.Table(r.choose(["orders", "customers", "items"]), schema=schema, alias=alias)


@generator
def gen_field(r: Source, table: pk.Table) -> pk.Field:
    return table.field(r.choose(["id", "day", "total", "name", "data"]))


@generator
def gen_value(r: Source) -> ValueWrapper:
    values = [gen_value_date, lambda r: Decimal(r.integer(-99, 99)) / 4, gen_word,
              lambda r: r.integer(-99, 99), lambda r: r.boolean(), lambda r: None]  # fmt: skip
    return ValueWrapper(r.choose(values)(r))


def gen_value_date(r: Source) -> date:
    return gen_date(r)


@generator
def gen_interval(r: Source) -> pk.Interval:
    units = ["years", "months", "days", "hours", "minutes", "seconds", "microseconds"]
    first = r.below(len(units))
    return pk.Interval(**{u: r.integer(0, 40) for u in units[first : first + r.integer(1, 3)]})


@generator
def gen_function(r: Source, table: pk.Table, depth: int) -> Function:
    one = gen_term(r, table, depth - 1)
    plain = [fn.Sum, fn.Count, fn.Max, fn.Lower, fn.Length, fn.Abs, fn.Date, fn.Trim]
    if r.boolean():
        return r.choose(plain)(one)
    two = gen_term(r, table, depth - 1)
    return r.choose([fn.Coalesce, fn.Concat, fn.NullIf, fn.IfNull])(one, two)


@generator
def gen_window(r: Source, table: pk.Table) -> AnalyticFunction:
    make = r.choose([an.Sum, an.Max, an.FirstValue, an.LastValue])
    window = make(gen_field(r, table)).over(gen_field(r, table)).orderby(gen_field(r, table))
    if r.boolean():
        return window.rows(an.Preceding(r.below(9)), an.CURRENT_ROW)
    return window.range(an.Preceding(), an.Following(r.below(9)))


@generator
def gen_case(r: Source, table: pk.Table, depth: int) -> pk.Case:
    case = pk.Case()
    for _ in r.more(1, 3, continues=0.4):
        case = case.when(gen_criterion(r, table, depth - 1), gen_term(r, table, depth - 1))
    return case.else_(gen_value(r)) if r.boolean() else case


@generator
def gen_term(r: Source, table: pk.Table, depth: int) -> Term:
    kind = r.below(8) if depth > 0 else r.below(3)
    match kind:
        case 0 | 1:
            return gen_field(r, table)
        case 2:
            return gen_value(r)
        case 3:
            return gen_function(r, table, depth)
        case 4:
            return gen_window(r, table)
        case 5:
            return gen_case(r, table, depth)
        case 6:
            return gen_field(r, table) + gen_interval(r)
    left, right = gen_term(r, table, depth - 1), gen_term(r, table, depth - 1)
    return r.choose([left + right, left - right, left * right, -left, left % 3])


@generator
def gen_criterion(r: Source, table: pk.Table, depth: int) -> pk.Criterion:
    if depth > 0 and r.below(3) == 0:
        one, two = gen_criterion(r, table, depth - 1), gen_criterion(r, table, depth - 1)
        return r.choose([one & two, one | two, one ^ two, ~one])
    term, value = gen_term(r, table, depth - 1), gen_value(r)
    match r.below(6):
        case 0:
            return term.between(value, gen_value(r))
        case 1:
            return term.isin([r.integer(0, 9) for _ in r.more(1, 4)])
        case 2:
            return term.like(gen_word(r) + "%")
        case 3:
            return r.choose([term.isnull(), term.notnull(), term.bitwiseand(r.integer(0, 9))])
    return r.choose([term == value, term != value, term < value, term >= value])


@generator
def gen_order(r: Source) -> pk.Order:
    return r.choose(list(pk.Order))


@generator
def gen_subquery(r: Source) -> QueryBuilder:
    table = gen_table(r)
    query = pk.Query.from_(table).select(gen_field(r, table), gen_field(r, table))
    return query.where(gen_criterion(r, table, 1)).as_(gen_word(r))


@generator
def gen_join(r: Source, table: pk.Table) -> Joined:
    item = gen_table(r) if r.below(3) else gen_subquery(r)
    how = r.choose([JoinType.inner, JoinType.left, JoinType.right, JoinType.outer])
    return Joined(item, how, table.id == item.field(r.choose(["id", "day"])))


@generator
def gen_statement(r: Source) -> Statement:
    table = gen_table(r)
    return Statement(
        kind=r.choose(KINDS) if r.boolean() else "select",
        dialect=r.choose(DIALECTS),
        table=table,
        columns=[gen_term(r, table, 2) for _ in r.more(1, 4)],
        joins=[gen_join(r, table) for _ in r.more(0, 2, continues=0.4)],
        where=gen_criterion(r, table, 2) if r.boolean() else None,
        groups=[gen_field(r, table) for _ in r.more(0, 3, continues=0.4)],
        orders=[(gen_field(r, table), gen_order(r)) for _ in r.more(0, 2, continues=0.4)],
        limit=r.integer(0, 99) if r.boolean() else None,
        flag=r.below(4) == 0,
    )
