//===- OptionText.h - what users write about a step: "lr=1e-3,nesterov" ---===//
//
// Options have names, and are numbers. Who owns them (an optimizer, a schedule)
// has a list of what there is.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <limits>
#include <utility>

namespace ptc::train {

/// An option that is a number: not negative, and below `limit`.
struct Number {
  llvm::StringLiteral name;
  double value; ///< unless a user says another
  double limit = std::numeric_limits<double>::infinity();
};

/// "lr=1e-3, nesterov" as (lr, 1e-3) and (nesterov, "").
llvm::SmallVector<std::pair<llvm::StringRef, llvm::StringRef>> splitOptions(llvm::StringRef text);

/// A number from 0 on, and below `limit`; an error says what `what` ("option 'lr' of adam") is instead.
llvm::Expected<double> parseNumber(const llvm::Twine &what, llvm::StringRef text,
                                   double limit = std::numeric_limits<double>::infinity());

} // namespace ptc::train
