//! What is noticed about samples that a harness renders without a word.

use arrow_array::RecordBatch;

use super::bound::BoundConfig;
use super::compiled::CompiledConfig;
use super::input::{Batch, Host};
use super::media::{Found, MediaParts};
use crate::error::Result;
use crate::plan::Config;
use crate::template::Template;

/// Everything noticed about samples, by row.
///
/// # Errors
///
/// As rendering them; what the configuration refuses is found here, not refused.
pub fn findings(compiled: &CompiledConfig, samples: &[RecordBatch], host: &dyn Host) -> Result<Vec<Found>> {
    let Template::Media(template) = compiled.config.main() else { return Ok(Vec::new()) };
    let config = Config { refuse: Vec::new(), ..compiled.config.clone() };
    let (mut out, mut start) = (Vec::new(), 0);
    for batch in samples {
        host.check()?;
        let bound = BoundConfig::new(compiled, &batch.schema())?;
        let values = Batch::new(bound.columns(), batch, host);
        let mut own = Vec::new();
        MediaParts::new(&config, template, batch, &values, Some(&mut own)).map_err(|e| e.shifted(start))?;
        out.extend(own.into_iter().map(|found| Found { row: found.row + start, ..found }));
        start += batch.num_rows();
    }
    Ok(out)
}
