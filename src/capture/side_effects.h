// Side effects: what the frame changed in objects that existed before, as replayable assignments.
#pragma once

#include "capture/recipes.h"

namespace suture {

// Appends to out.side_effects in the order of first write. False when something cannot be rebuilt (see
// writer.failure()).
bool write_side_effects(CaptureState& state, RecipeWriter& writer, Capture& out);
// Guards that keep the changes from being seen through other inputs: distinct containers, arrays that do not
// overlap. False when two inputs of this very call overlap and one is written.
bool guard_side_effects(CaptureState& state);

}  // namespace suture
