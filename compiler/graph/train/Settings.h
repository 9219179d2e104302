//===- Settings.h - an optimizer and the options that a user gave ---------===//
//
// A group is of parameters that have some hyperparameters of their own
// (PyTorch's param_groups); the others they share with the parameters in no
// group:
//
//           optimizer.lr              of parameters in no group
//           optimizer.2.lr            of group 2, if it says an lr
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace ptc::train {

struct Optimizer;

/// What holds for the parameters of one group.
struct Settings {
  const Optimizer *optimizer = nullptr;
  llvm::StringMap<double> values; ///< by option; a flag is 0 or 1
  unsigned group = 0;             ///< 0: of the parameters in no group
  std::string pattern;            ///< of a group: a regular expression of its parameters' names
  llvm::StringSet<> own;          ///< options that the group says itself

  double number(llvm::StringRef option) const { return values.lookup(option); }
  bool isOn(llvm::StringRef flag) const { return values.lookup(flag) != 0; }

  /// The state that a hyperparameter is.
  std::string nameHyperparameter(llvm::StringRef option) const;
  /// The state of a number that rows keep for all parameters of the group.
  std::string nameShared(llvm::StringRef number) const;
};

/// `name` in any case, as "AdamW"; `options` as "lr=1e-3,amsgrad=true"; `groups` as "REGEX: lr=1e-4,weight_decay=0". Of
/// the parameters in no group first, then of each group. An error lists what there is.
llvm::Expected<std::vector<Settings>> parseOptimizer(llvm::StringRef name, llvm::StringRef options,
                                                     llvm::ArrayRef<std::string> groups);

/// The settings of each parameter: of the first group whose expression its name matches. A group without parameters is
/// an error.
llvm::Expected<std::vector<const Settings *>> assignGroups(llvm::ArrayRef<Settings> settings,
                                                           llvm::ArrayRef<llvm::StringRef> parameters);

} // namespace ptc::train
