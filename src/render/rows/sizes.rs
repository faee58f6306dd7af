//! What texts may take, looked at before memory is asked for.

use std::ops::Range;

use crate::error::Result;
use crate::plan::{Limits, Plans};
use crate::render::memory::TextOffsets;

/// Refuse rows with a request that is too long, or all of them where they are too much together. `offsets` are those of
/// all texts of the rows: those of a request, request by request.
///
/// # Errors
///
/// `RenderError`, with the row where one is to blame.
pub(super) fn check_sizes(plans: &Plans, rows: Range<usize>, offsets: &TextOffsets, limits: Limits) -> Result<()> {
    let total = offsets.last().unwrap_or(0);
    // No request is longer than all of them.
    if total > limits.prompt_bytes {
        let mut at = 0;
        for request in rows.start * plans.labels..rows.end * plans.labels {
            let next = at + plans.all[plans.of(request)].programs.len();
            let bytes = offsets.get(next) - offsets.get(at);
            if bytes > limits.prompt_bytes {
                return Err(limits.prompt_too_long(bytes).at_row(request / plans.labels));
            }
            at = next;
        }
    }
    if total > limits.batch_bytes { Err(limits.batch_too_large(total)) } else { Ok(()) }
}
