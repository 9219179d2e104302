// RUN: not ptc-opt %s --build-step="optimizer=sgd groups={b: betas=2}" 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not ptc-opt %s --build-step="optimizer=sgd groups={*: lr=1}" 2>&1 | FileCheck %s --check-prefix=PATTERN
// RUN: not ptc-opt %s --build-step="optimizer=sgd groups={bias lr}" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not ptc-opt %s --build-step="optimizer=sgd groups={bias$: lr=1}" 2>&1 | FileCheck %s --check-prefix=MATCH
// RUN: not ptc-opt %s --build-step="optimizer=sgd groups={w: lr=1},{^w$: lr=2}" 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: not ptc-opt %s --build-step="optimizer=sgd groups={w: nesterov}" 2>&1 | FileCheck %s --check-prefix=NESTEROV
// RUN: not ptc-opt %s --build-step="optimizer=sgd clip-norm=-1" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not ptc-opt %s --build-step="optimizer=sgd clip-value=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not ptc-opt %s --build-step="optimizer=sgd ema=1.5" 2>&1 | FileCheck %s --check-prefix=DECAY
// RUN: not ptc-opt %s --build-step="optimizer=sgd loss-scale=0" 2>&1 | FileCheck %s --check-prefix=SCALE
// RUN: not ptc-opt %s --build-step="optimizer=sgd schedule=cosin" 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not ptc-opt %s --build-step="optimizer=sgd schedule=cosine" 2>&1 | FileCheck %s --check-prefix=NEEDED
// RUN: not ptc-opt %s --build-step="optimizer=sgd schedule=step:size=0" 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not ptc-opt %s --build-step="optimizer=sgd schedule=linear:steps=5,gamma=1" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not ptc-opt %s --build-step="optimizer=sgd schedule=linear:steps=x" 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not ptc-opt %s --build-step="optimizer=sgd schedule=linear:steps=5,warmup=5" 2>&1 | FileCheck %s --check-prefix=WARMUP

// OPTION: --group 'b: betas=2': sgd has no option 'betas' (it has lr, momentum, dampening, weight_decay, nesterov, maximize)
// PATTERN: --group '*: lr=1': '*' is no regular expression: {{.*}}
// NONE: --group 'bias lr' says no options (REGEX: NAME=VALUE,...)
// MATCH: no parameter to train has a name that matches --group 'bias$' (such as 'w')
// TAKEN: every parameter whose name matches --group '^w$' is in a group before it
// NESTEROV: sgd: nesterov needs a momentum and no dampening
// NEGATIVE: --clip-grad-norm is '-1', and not a number from 0 on
// ZERO: --clip-grad-value is 0, at which nothing would change
// DECAY: --ema is '1.5', and not a number from 0 to 1
// SCALE: --loss-scale is '0', and neither dynamic nor a number above 0
// SCHEDULE: --schedule 'cosin' is none (there are constant, linear, cosine, polynomial, exponential, step, multistep)
// NEEDED: --schedule cosine needs an option 'steps'
// SIZE: --schedule step: option 'size' is 0
// UNKNOWN: --schedule linear has no option 'gamma' (it has steps, start, end, warmup, warmup_start)
// TEXT: option 'steps' of --schedule linear is 'x', and not a number from 0 on
// WARMUP: --schedule linear: the warm-up is as long as all steps, and nothing is behind it
func.func @forward(%w: tensor<f32> {ptc.weight = "w", ptc.trainable}) -> (tensor<f32> {ptc.output = "loss", ptc.loss}) {
  return %w : tensor<f32>
}
