//! Requests bound to columns.

use std::sync::Arc;

use super::segment::{Columns, Program};
use crate::role::{Message, Piece, Request};

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
            Request::List(messages) => {
                let bound = |pieces: &[Piece]| Arc::new(Program::new(pieces, columns));
                messages
                    .iter()
                    .filter_map(|message| match message {
                        // What a column brings is written where it has a text here.
                        Message::Expand { .. } | Message::Element(_) => message.text().map(bound),
                        Message::Bare(_) | Message::Dict(_) => Some(bound(message.text().unwrap_or_default())),
                    })
                    .collect()
            }
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
