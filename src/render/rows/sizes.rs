//! What texts may take, looked at before memory is asked for.

use std::ops::Range;

use crate::plan::{Limits, Plans};
use crate::render::memory::TextOffsets;

/// Whether no request of some rows is too long, and all of them together aren't too much. `offsets` are those of all texts
/// of the rows: those of a request, request by request.
pub(super) fn stay_within(plans: &Plans, rows: Range<usize>, offsets: &TextOffsets, limits: Limits) -> bool {
    let total = offsets.last().unwrap_or(0);
    // No request is longer than all of them.
    if total <= limits.prompt_bytes || total > limits.batch_bytes {
        return total <= limits.batch_bytes;
    }
    let mut at = 0;
    (rows.start * plans.labels..rows.end * plans.labels).all(|request| {
        let next = at + plans.all[plans.of(request)].programs.len();
        let bytes = offsets.get(next) - offsets.get(at);
        at = next;
        bytes <= limits.prompt_bytes
    })
}
