//! Checks Arrow's offsets.

use arrow_array::OffsetSizeTrait;

/// Return true if offsets ascend within 0 and `end`. The check uses vector code. It is true if there are no offsets.
pub fn lead_inside<O: OffsetSizeTrait>(offsets: &[O], end: usize) -> bool {
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { return true };
    // All are counted: without an early exit, the compiler compares several at once.
    let falls = offsets.iter().zip(&offsets[1..]).filter(|(current, next)| current > next).count();
    falls == 0 && *first >= O::zero() && last.to_usize().is_some_and(|last| last <= end)
}
