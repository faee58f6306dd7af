//! Where Arrow's offsets lead.

use arrow_array::OffsetSizeTrait;

/// Whether offsets ascend, from 0 at least, to `end` at most; said of all of them together, by vector code. No offsets do.
///
/// ```
/// use promptpress::pytext::lead_inside;
///
/// assert!(lead_inside::<i32>(&[0, 2, 2], 2));
/// assert!(!lead_inside::<i32>(&[0, 2, 1], 2) && !lead_inside::<i64>(&[-1, 2], 2) && !lead_inside::<i64>(&[0, 3], 2));
/// ```
pub fn lead_inside<O: OffsetSizeTrait>(offsets: &[O], end: usize) -> bool {
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { return true };
    // All are counted: without a way out the compiler compares several at once.
    let falls = offsets.iter().zip(&offsets[1..]).filter(|(one, next)| one > next).count();
    falls == 0 && *first >= O::zero() && last.to_usize().is_some_and(|last| last <= end)
}
