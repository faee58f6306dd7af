//! Traces: the origins of the texts of requests, from which spans are made.
//!
//! `fragment_traces` traces examples and messages, each once for all requests that show it; `traced_request` is a
//! request with the origin of each piece, `origin_codes` has what columns of spans say of an origin, and `span_arrays`
//! holds spans as Arrow arrays.

mod fragment_traces;
mod nullable;
mod origin_codes;
mod span_arrays;
mod traced_request;

pub(in crate::render) use fragment_traces::{AllTraces, FragmentTraces, OriginNumbers, PartTrace, origin_in_slot};
pub(in crate::render) use origin_codes::OriginCodes;
pub use span_arrays::Spans;
pub(in crate::render) use span_arrays::{
    NO_PART, PositionType, Span, SpanBlock, SpanColumns, SpanRun, SpanSlots, SpanType, Stretches, TextPosition,
};
pub(in crate::render) use traced_request::{TracedMessage, constant_parts, traced_pieces};
