//! Finds faults of samples that a harness renders without a warning.

use arrow_array::RecordBatch;

use super::compiled::{BoundConfig, CompiledConfig};
use super::input::{Batch, PythonCallbacks};
use super::media::{MediaFinding, MediaParts};
use crate::error::Result;
use crate::plan::Config;
use crate::template::Template;

/// Return all findings about samples, by row.
///
/// # Errors
///
/// The errors of rendering the samples, without refused findings, which are returned instead.
pub fn findings(
    compiled: &CompiledConfig,
    samples: &[RecordBatch],
    host: &dyn PythonCallbacks,
) -> Result<Vec<MediaFinding>> {
    let Template::Media(template) = compiled.config.main() else { return Ok(Vec::new()) };
    let config = Config { refuse: Vec::new(), ..compiled.config.clone() };
    let (mut out, mut start) = (Vec::new(), 0);
    for batch in samples {
        host.check()?;
        let bound = BoundConfig::new(compiled, &batch.schema())?;
        let values = Batch::new(bound.columns(), batch, host);
        let mut batch_findings = Vec::new();
        MediaParts::new(&config, template, batch, &values, Some(&mut batch_findings)).map_err(|e| e.shifted(start))?;
        out.extend(batch_findings.into_iter().map(|finding| MediaFinding { row: finding.row + start, ..finding }));
        start += batch.num_rows();
    }
    Ok(out)
}
