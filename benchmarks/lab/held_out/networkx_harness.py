"""networkx: a small graph from choices, and what one of its algorithms finds."""

import networkx as nx

ALGORITHMS = {
    "bridges": lambda g: sorted(nx.bridges(g)),
    "coloring": lambda g: sorted(nx.greedy_color(g, strategy="DSATUR").items()),
    "components": lambda g: sorted(map(sorted, nx.strongly_connected_components(g))),
    "cycles": lambda g: sorted(map(sorted, nx.cycle_basis(g))),
    "dag": lambda g: (list(nx.topological_sort(g)), nx.dag_longest_path(g)),
    "flow": lambda g: nx.maximum_flow_value(g, min(g), max(g), capacity="weight"),
    "isomorphic": lambda g: nx.is_isomorphic(
        g, nx.reverse(g) if g.is_directed() else nx.complement(g)
    ),
    "johnson": lambda g: sorted((k, sorted(v.items())) for k, v in nx.johnson(g).items()),
    "matching": lambda g: sorted(map(sorted, nx.max_weight_matching(g))),
    "paths": lambda g: nx.bellman_ford_path(g, min(g), max(g)),
    "planar": lambda g: nx.check_planarity(g)[0],
    "shortest": lambda g: nx.bidirectional_dijkstra(g, min(g), max(g)),
    "spanning": lambda g: sorted(nx.minimum_spanning_edges(g, data=False)),
}


def solve(case) -> object:
    algorithm, graph = case
    return ALGORITHMS[algorithm](graph)


def case(r):
    graph = r.choose([nx.Graph, nx.DiGraph])()
    nodes = r.integer(1, 9)
    graph.add_nodes_from(range(nodes))
    for _ in r.more(0, 24, continues=0.9):
        weight = r.choose([1, 1, 2, 5, 0, -1])
        graph.add_edge(r.below(nodes), r.below(nodes), weight=weight)
    return r.choose(list(ALGORITHMS)), graph
