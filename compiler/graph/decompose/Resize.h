//===- Resize.h - what resizing and grid sampling share -------------------===//
#pragma once

#include "compiler/graph/decompose/Builder.h"

#include <array>

namespace ptc::decompose {

class Table;

/// Weights of the four neighbours of a place at distance t from the second.
std::array<T, 4> cubicWeights(T t);

void addGridSample(Table &table);

} // namespace ptc::decompose
