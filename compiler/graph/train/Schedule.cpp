#include "compiler/graph/train/Schedule.h"

#include "compiler/graph/train/OptionText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using llvm::StringRef;

namespace ptc::train {

using decompose::B;
using decompose::T;

namespace {

/// A step of a schedule, as its row sees it. All numbers are of f64.
struct Moment {
  StepFunction &f;
  const Schedule &schedule;
  T done;    ///< steps before this one
  T elapsed; ///< those behind the warm-up

  /// A number, as it is now.
  T number(StringRef name) {
    const std::vector<double> &first = schedule.values.find(name)->second;
    return f.number("schedule." + name, f.b.f64(), first.front());
  }
  T list(StringRef name) { return f.state("schedule." + name, schedule.values.find(name)->second); }
  /// From 0 behind the warm-up to 1 at `steps`, and further.
  T progress() {
    T warmup = isWarm() ? number("warmup") : f.b.tensor(0.0, f.b.f64());
    T length = f.b.maximum(number("steps") - warmup, 1.0);
    return f.b.clamp(elapsed / length, std::nullopt, 1.0);
  }
  bool isWarm() const { return schedule.values.find("warmup")->second.front() != 0; }
};

constexpr double kNeeded = -1; ///< A number that a user must give.
constexpr double kList = -2;   ///< So must it, as "30/80".

} // namespace

struct ScheduleRow {
  llvm::StringLiteral name;
  std::vector<Number> numbers; ///< without those of the warm-up, which all have
  T (*factor)(Moment &m);      ///< behind the warm-up
};

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// From 1 to `end`, as `rest` goes from 1 to 0.
static T descend(Moment &m, T rest) {
  T end = m.number("end");
  return end + (1.0 - end) * rest;
}

static T constant(Moment &m) { return m.f.b.tensor(1.0, m.f.b.f64()); }

static T linear(Moment &m) {
  T start = m.number("start"), end = m.number("end");
  return start + (end - start) * m.progress();
}

static T cosine(Moment &m) { return descend(m, (m.f.b.cos(m.progress() * M_PI) + 1.0) * 0.5); }

static T polynomial(Moment &m) { return descend(m, m.f.b.pow(1.0 - m.progress(), m.number("power"))); }

static T exponential(Moment &m) { return m.f.b.pow(m.number("gamma"), m.elapsed); }

static T step(Moment &m) {
  B &b = m.f.b;
  return b.pow(m.number("gamma"), b.floor(m.elapsed / m.number("size")));
}

static T multistep(Moment &m) {
  B &b = m.f.b;
  T passed = b.sum(b.to(m.list("milestones") <= m.done, b.f64()), {});
  return b.pow(m.number("gamma"), passed);
}

static llvm::ArrayRef<ScheduleRow> schedules() {
  static const ScheduleRow rows[] = {
      {"constant", {}, constant},
      {"linear", {{"steps", kNeeded}, {"start", 1}, {"end", 0}}, linear},
      {"cosine", {{"steps", kNeeded}, {"end", 0}}, cosine},
      {"polynomial", {{"steps", kNeeded}, {"power", 1}, {"end", 0}}, polynomial},
      {"exponential", {{"gamma", kNeeded}}, exponential},
      {"step", {{"size", kNeeded}, {"gamma", 0.1}}, step},
      {"multistep", {{"milestones", kList}, {"gamma", 0.1}}, multistep},
  };
  return rows;
}

T computeFactor(StepFunction &f, const Schedule &schedule, T done) {
  B &b = f.b;
  f.startPart("schedule");
  T now = b.to(done, b.f64());
  Moment m{f, schedule, now, now};
  if (!m.isWarm())
    return schedule.row->factor(m);
  T warmup = m.number("warmup"), start = m.number("warmup_start");
  m.elapsed = b.maximum(now - warmup, 0.0);
  return b.where(now < warmup, start + (1.0 - start) * now / warmup, schedule.row->factor(m));
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError("--schedule " + message); }

static std::vector<Number> numbersOf(const ScheduleRow &row) {
  std::vector<Number> numbers = row.numbers;
  numbers.insert(numbers.end(), {{"warmup", 0}, {"warmup_start", 0}});
  return numbers;
}

static llvm::Error setNumber(Schedule &schedule, StringRef option, StringRef text) {
  std::vector<Number> numbers = numbersOf(*schedule.row);
  auto number = llvm::find_if(numbers, [&](const Number &one) { return one.name == option; });
  if (number == numbers.end()) {
    auto names = llvm::map_range(numbers, [](const Number &one) -> StringRef { return one.name; });
    return fail(schedule.row->name + " has no option '" + option + "' (it has " + llvm::join(names, ", ") + ")");
  }
  llvm::SmallVector<StringRef> texts = {text};
  if (number->value == kList) {
    texts.clear();
    text.split(texts, '/');
  }
  std::vector<double> values;
  for (StringRef one : texts) {
    llvm::Expected<double> value = parseNumber("option '" + option + "' of --schedule " + schedule.row->name, one);
    if (!value)
      return value.takeError();
    values.push_back(*value);
  }
  schedule.values[option] = std::move(values);
  return llvm::Error::success();
}

/// What is needed is there, and steps are behind the warm-up.
static llvm::Error check(Schedule &schedule) {
  for (const Number &number : numbersOf(*schedule.row)) {
    bool isNeeded = number.value == kNeeded || number.value == kList;
    if (!schedule.values.contains(number.name)) {
      if (isNeeded)
        return fail(schedule.row->name + " needs an option '" + number.name + "'");
      schedule.values[number.name] = {number.value};
    }
    if (isNeeded && number.name != "milestones" && schedule.values[number.name].front() == 0)
      return fail(schedule.row->name + ": option '" + number.name + "' is 0");
  }
  double warmup = schedule.values["warmup"].front();
  if (auto steps = schedule.values.find("steps"); steps != schedule.values.end() && steps->second.front() <= warmup)
    return fail(schedule.row->name + ": the warm-up is as long as all steps, and nothing is behind it");
  return llvm::Error::success();
}

llvm::Expected<Schedule> parseSchedule(StringRef text) {
  auto [name, options] = text.split(':');
  Schedule schedule;
  for (const ScheduleRow &row : schedules())
    if (row.name == name.trim())
      schedule.row = &row;
  if (!schedule.row) {
    auto names = llvm::map_range(schedules(), [](const ScheduleRow &row) -> StringRef { return row.name; });
    return fail("'" + name + "' is none (there are " + llvm::join(names, ", ") + ")");
  }
  for (auto [option, value] : splitOptions(options))
    if (llvm::Error error = setNumber(schedule, option, value))
      return std::move(error);
  if (llvm::Error error = check(schedule))
    return std::move(error);
  return schedule;
}

} // namespace ptc::train
