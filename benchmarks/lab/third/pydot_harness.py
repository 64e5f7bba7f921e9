"""pydot: graphs in the DOT language parsed, printed, changed, and printed again."""

import pydot

pydot.graph_from_dot_data("graph {}")  # the first call names all characters of the grammar: 1 s


def read(text: str) -> list[object]:
    graphs = pydot.graph_from_dot_data(text)
    if graphs is None:
        raise ValueError("no graph")
    return [part for graph in graphs for part in changed(graph)]


def changed(graph) -> list[object]:
    found: list[object] = [graph.to_string(), graph.get_type(), graph.get_attributes()]
    for node in graph.get_node_list():
        node.add_style("bold")
        found.append((node.get_name(), node.get_port(), graph.get_node(node.get_name()) != []))
    for edge in graph.get_edge_list():
        found.append((str(edge), graph.get_edge(edge.get_source(), edge.get_destination()) != []))
    for part in graph.get_subgraph_list():
        found += changed(part)
    graph.add_edge(pydot.Edge("a", "b", label="x y"))
    graph.set_node_defaults(shape="box")
    found.append((graph.del_node("a"), graph.del_edge("b", "c")))
    graph.set_simplify(True)
    return [*found, graph.to_string(indent=2)]
