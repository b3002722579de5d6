// `campipe --plan=dot`: the graph for Graphviz.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>

#include "app/config/memory_names.h"
#include "app/placement/graph.h"

namespace campipe {
namespace {

// Fit to stand between quotes. Reasons hold what drivers say.
std::string dot_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// The name, and below it a line for each thing that it does.
std::string label_of(const GraphNode& node) {
  std::string label = node.name;
  if (!node.decoder.empty()) label += "\n" + decoder_text(node);
  if (node.cells > 0) label += "\n" + cells_text(node);
  if (!node.sinks.empty()) label += fmt::format("\n{}", fmt::join(node.sinks, ", "));
  for (const GraphStream& stream : node.streams) {
    const bool is_own = stream.output == node.name;
    const bool is_other = stream.output.starts_with(node.name + "/");
    const std::string name = is_other ? stream.output.substr(node.name.size()) : stream.output;
    label += "\n" + (is_own ? "" : name + ": ") + stream_text(stream, node);
  }
  return label;
}

std::string label_of(const GraphProcess& process) {
  if (process.gpu.empty() || process.gpu == "cpu") return process.name;
  return process.name + ", GPU " + process.gpu;
}

std::string cluster_of(const GraphProcess& process, const Graph& graph) {
  std::string text = fmt::format("  subgraph {} {{\n    label={};\n", dot_string("cluster " + process.name),
                                 dot_string(label_of(process)));
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].process == process.name)
      text += fmt::format("    n{} [label={}];\n", n, dot_string(label_of(graph.nodes[n])));
  }
  return text + "  }\n";
}

std::string line_of(const GraphEdge& edge) {
  const bool frames = edge.kind == GraphEdge::Kind::frames;
  std::string label;
  if (frames) label = fmt::format("label=\"{}\\n{}\", ", choice_name(edge.memory), name_of(edge.ready));
  return fmt::format("  n{} -> n{} [{}style={}, color={}, tooltip={}];\n", edge.from, edge.to, label,
                     frames ? "bold" : "solid", edge.on_demand ? "gray60" : "black",
                     dot_string(name_of(edge.kind) + ": " + edge.reason));
}

}  // namespace

std::string to_dot(const Graph& graph) {
  std::string text =
      "digraph campipe {\n"
      "  rankdir=LR; ranksep=1; nodesep=0.1; fontname=\"sans-serif\"; style=rounded; color=gray;\n"
      "  label=\"bold: frame ring; thin: packet ring; gray: only while somebody watches\";\n"
      "  node [shape=box, fontname=\"sans-serif\", fontsize=10, height=0.2];\n"
      "  edge [fontname=\"sans-serif\", fontsize=8];\n";
  for (const GraphProcess& process : graph.processes) text += cluster_of(process, graph);
  for (const GraphEdge& edge : graph.edges) text += line_of(edge);
  return text + "}\n";
}

}  // namespace campipe
