"""networkx: one algorithm on a graph whose nodes and edges have attributes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import networkx as nx
from networkx.algorithms.isomorphism import GraphMatcher

from fuzztui.generators import Source, gen_word, generator

ALGORITHMS = [
    "betweenness", "bridges", "closeness", "coloring", "components", "connectivity", "cycles",
    "dag", "distances", "flow", "isomorphism", "matching", "path", "planarity", "tree",
]  # fmt: skip


@dataclass
class Problem:
    """Which algorithm, on which graph (and another one), from where to where."""

    algorithm: str
    graph: nx.Graph
    other: nx.Graph
    ends: Ends
    flag: bool


@dataclass
class Ends:
    source: int
    target: int


def solve(p: Problem) -> object:
    g, s, t = p.graph, p.ends.source, p.ends.target
    match p.algorithm:
        case "betweenness":
            weight = "weight" if p.flag else None
            return nx.betweenness_centrality(g, weight=weight, endpoints=p.flag)
        case "bridges":
            return list(nx.bridges(g, root=s if p.flag else None))
        case "closeness":
            return nx.closeness_centrality(g, distance="weight" if p.flag else None)
        case "coloring":
            strategy = ["DSATUR", "largest_first", "smallest_last"][s % 3]
            return nx.greedy_color(g, strategy, interchange=p.flag and s % 3 > 0)
        case "components":
            if g.is_directed():
                return list(
                    nx.strongly_connected_components(g)
                ), nx.number_weakly_connected_components(g)
            return list(nx.biconnected_components(g)), list(nx.articulation_points(g))
        case "connectivity":
            return nx.node_connectivity(g, s, t) if p.flag else nx.edge_connectivity(g)
        case "cycles":
            return nx.find_cycle(g, s) if p.flag else list(nx.simple_cycles(g, length_bound=4))
        case "dag":
            return nx.transitive_reduction(g) if p.flag else nx.dag_longest_path(g)
        case "distances":
            return nx.johnson(g) if p.flag else nx.floyd_warshall(g)
        case "flow":
            cost = nx.max_flow_min_cost(g, s, t) if p.flag else None
            return cost, nx.maximum_flow(g, s, t)
        case "isomorphism":
            return (
                GraphMatcher(g, p.other).subgraph_is_isomorphic()
                if p.flag
                else nx.is_isomorphic(g, p.other)
            )
        case "matching":
            return nx.max_weight_matching(g, p.flag), nx.maximal_matching(g)
        case "path":
            find = nx.dijkstra_path if p.flag else nx.bellman_ford_path
            return find(g, s, t), nx.astar_path_length(g, s, t, weight="weight")
        case "planarity":
            return nx.check_planarity(g, counterexample=p.flag)[0]
        case "tree":
            if g.is_directed():
                return nx.maximum_branching(g) if p.flag else nx.minimum_spanning_arborescence(g)
            return list(nx.minimum_spanning_edges(g, algorithm="boruvka" if p.flag else "prim"))


@generator
def gen_weight(r: Source) -> Fraction:
    return Fraction(
        r.integer(-1, 12) if r.below(16) == 0 else r.integer(1, 12), r.choose([1, 1, 2])
    )


def fill(r: Source, graph: nx.Graph) -> None:
    nodes = r.integer(2, 9)
    for node in range(nodes):
        graph.add_node(node, name=gen_word(r), demand=r.integer(-2, 2))
    for _ in r.more(1, 20, continues=0.9):
        ends = r.below(nodes), r.below(nodes)
        if ends[0] != ends[1] or r.below(8) == 0:
            graph.add_edge(*ends, weight=gen_weight(r), capacity=r.integer(0, 9))


@generator
def gen_undirected(r: Source) -> nx.Graph:
    fill(r, graph := nx.Graph(name=gen_word(r)))
    return graph


@generator
def gen_directed(r: Source) -> nx.DiGraph:
    fill(r, graph := nx.DiGraph())
    return graph


@generator
def gen_multiple(r: Source) -> nx.MultiGraph:
    fill(r, graph := nx.MultiGraph())
    return graph


def gen_graph(r: Source) -> nx.Graph:
    kinds = [(4, gen_undirected), (4, gen_directed), (1, gen_multiple)]
    return r.weighted(kinds)(r)


@generator
def gen_ends(r: Source) -> Ends:
    return Ends(r.below(4), r.below(8))


@generator
def gen_problem(r: Source) -> Problem:
    return Problem(r.choose(ALGORITHMS), gen_graph(r), gen_graph(r), gen_ends(r), r.boolean())
