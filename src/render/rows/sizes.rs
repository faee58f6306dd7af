//! Checks the size of texts before their memory is allocated.

use std::ops::Range;

use crate::plan::{Limits, Plans};
use crate::render::memory::TextOffsets;

/// Return true if no request of some rows is too long, and if all requests together aren't too long. `offsets` are
/// those of all texts of the rows, request by request.
pub(super) fn stay_within(plans: &Plans, rows: Range<usize>, offsets: &TextOffsets, limits: Limits) -> bool {
    let total = offsets.last().unwrap_or(0);
    // No request is longer than all requests together.
    if total <= limits.prompt_bytes || total > limits.batch_bytes {
        return total <= limits.batch_bytes;
    }
    let mut index = 0;
    (rows.start * plans.labels..rows.end * plans.labels).all(|request| {
        let next = index + plans.all[plans.of(request)].programs.len();
        let bytes = offsets.get(next) - offsets.get(index);
        index = next;
        bytes <= limits.prompt_bytes
    })
}
