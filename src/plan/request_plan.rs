//! Requests bound to columns.

use std::sync::Arc;

use super::segment::{Columns, Program};
use crate::role::{Message, Request, Slot};

/// A request bound to columns.
#[derive(Debug)]
pub struct Plan {
    /// What it renders.
    pub request: Request,
    /// One program a text: the text itself, or one for each message that the configuration holds.
    pub programs: Vec<Arc<Program>>,
}

impl Plan {
    /// Bind a request.
    pub fn new(request: Request, columns: &Columns) -> Self {
        let programs = match &request {
            Request::Text(pieces) => vec![Arc::new(Program::new(pieces, columns))],
            Request::Parts(_) => Vec::new(),
            Request::List(messages) => messages
                .iter()
                .filter_map(|message| match message {
                    Message::Expand { .. } => None,
                    Message::Bare(pieces) => Some(Arc::new(Program::new(pieces, columns))),
                    Message::Dict(keys) => {
                        let text = keys.iter().find_map(|(_, slot)| match slot {
                            Slot::Text(pieces) => Some(pieces),
                            Slot::Const(_) | Slot::Parts(_) => None,
                        });
                        Some(Arc::new(Program::new(text.map_or(&[][..], |pieces| pieces), columns)))
                    }
                })
                .collect(),
        };
        Self { request, programs }
    }
}

/// The plans of a batch and which request has which.
#[derive(Debug)]
pub struct Plans {
    /// The plans.
    pub all: Vec<Arc<Plan>>,
    /// Requests a row.
    pub labels: usize,
    /// The plan of each request where rows differ; else the plans are one a label.
    pub each: Option<Vec<u32>>,
}

impl Plans {
    /// The place of a request's plan; requests count over rows and labels.
    #[inline]
    pub fn of(&self, request: usize) -> usize {
        match &self.each {
            None => request % self.labels,
            Some(each) => each[request] as usize,
        }
    }
}
