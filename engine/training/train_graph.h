// One graph for a whole training step: forward, loss, gradient, clipping, optimizer, all as ordinary ONNX nodes.
#pragma once

#include <string>
#include <vector>

#include "engine/base/stop.h"
#include "engine/graph/graph.h"
#include "engine/training/optimizer.h"

namespace nabla::engine {

/// What is made small.
struct LossSpec {
    enum class Kind : std::uint8_t {
        Output,       ///< a value of the model with one element; empty name: the output called `loss`, else the only scalar output
        CrossEntropy, ///< mean of -log softmax(output)[target], target: class indices (torch.nn.functional.cross_entropy)
        MeanSquare,   ///< mean of (output - target)^2 (torch.nn.functional.mse_loss)
    } kind = Kind::Output;
    std::string output;            ///< empty for the last two: the first float output
    std::string target = "target"; ///< name of the graph input that is added
    std::int64_t classAxis = 1;    ///< of the output, CrossEntropy only; -1: the last
};

/// As the file says, or BatchNormalization and Dropout switched to training (batch statistics, running statistics updated, units dropped).
enum class LayerMode : std::uint8_t { AsInFile, Training };

struct TrainGraphOptions {
    LossSpec loss;
    OptimizerSpec optimizer;
    ScheduleSpec schedule;
    ClipSpec clip;
    LayerMode layers = LayerMode::AsInFile;
    /// Weights to train, by name. Empty: every float initializer of rank >= 1 that the loss depends on, but running statistics.
    std::vector<std::string> parameters;
    std::vector<std::string> frozen; ///< these not
    JobControl job;
};

/// A value carried from step to step: read as `input`, and `output` is what the next step reads.
struct StateSlot {
    std::string input, output; ///< names of graph input and output
    TensorPtr initial;
};

struct TrainedParameter {
    ValueId value;        ///< as in the forward graph: its id and name stay
    std::string name, next, gradient; ///< graph input, output after the update, output with the unclipped gradient
    std::int64_t unitAxis = 0; ///< axis along which the units (channels, neurons) lie that the weight feeds
};

/// Inputs: the model's (and the target), the state, the step counter, the base learning rate. Outputs: the loss, per parameter its gradient and
/// its next value, the next state, the next step counter, the rate of this step, the norm of all gradients.
struct TrainGraph {
    Graph graph;
    std::vector<std::string> dataInputs; ///< what a batch must give
    std::vector<TrainedParameter> parameters;
    std::vector<StateSlot> state; ///< weights, optimizer state, running statistics; not the step
    std::vector<std::string> weights; ///< those of `state` that belong to the model
    std::string loss, gradientNorm, rate;
    std::string rateInput;               ///< float64 scalar
    std::string stepInput, stepOutput;   ///< int64 scalar: steps done before this one
    std::vector<std::string> notes;      ///< what was left out, and why
};

/// `forward` must be legalized. Errors (Usage): a name that is not there, a loss that has more than one element, nothing to train, a number
/// out of its range; (Run): those of grad().
Result<TrainGraph> buildTrainGraph(const Graph& forward, const TrainGraphOptions& options);

/// The graph with other weights under the same names; floats are cast to the type they have there. Errors (Usage): a name that is no
/// initializer there, another shape.
Result<Graph> withWeights(const Graph& graph, const std::map<std::string, Tensor>& weights);

} // namespace nabla::engine
