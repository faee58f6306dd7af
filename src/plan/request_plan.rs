//! Requests bound to columns.

use std::sync::Arc;

use super::segment::{Columns, Program};
use crate::role::{Message, Piece, Request};

/// A request bound to columns.
#[derive(Debug)]
pub struct Plan {
    /// The request.
    pub request: Request,
    /// One program for each text: for the text itself, or for each message of the configuration.
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
                        // A message of a column has a program only if its text is rendered here.
                        Message::Expand { .. } | Message::Element(_) => message.text().map(bound),
                        Message::Bare(_) | Message::Dict(_) => Some(bound(message.text().unwrap_or_default())),
                    })
                    .collect()
            }
        };
        Self { request, programs }
    }
}

/// The plans of a batch, and the plan of each request.
#[derive(Debug)]
pub struct Plans {
    /// The plans.
    pub all: Vec<Arc<Plan>>,
    /// The number of requests for each row.
    pub labels: usize,
    /// The plan of each request if rows differ; otherwise there is one plan for each label.
    pub each: Option<Vec<u32>>,
}

impl Plans {
    /// Return the index of a request's plan. Requests are counted over rows and labels.
    #[inline]
    pub fn of(&self, request: usize) -> usize {
        match &self.each {
            None => request % self.labels,
            Some(each) => each[request] as usize,
        }
    }
}
