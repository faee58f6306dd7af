//! Error codes, which programs use, while messages are for people.

macro_rules! codes {
    ($(#[doc = $meaning:literal] $variant:ident = $name:literal,)+) => {
        /// A kind of fault. Names stay the same from release to release; messages may change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $meaning] $variant,)+
        }

        impl Code {
            /// All codes, those of the configuration first.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Return the name, which is an error's `code` in Python.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Return the meaning in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)+ }.trim_start()
            }
        }
    };
}

codes! {
    /// A value of the configuration has another type than is needed there.
    WrongType = "wrong_type",
    /// A number of the configuration lies outside its range.
    InvalidNumber = "invalid_number",
    /// A key that is needed is missing.
    MissingKey = "missing_key",
    /// A key is given that nobody reads.
    UnknownKey = "unknown_key",
    /// A word is none of those that an option knows.
    UnknownName = "unknown_name",
    /// A template, retriever or inferencer is of a class that isn't supported, or that the dialect lacks.
    UnsupportedClass = "unsupported_class",
    /// A model class isn't known.
    UnknownModelClass = "unknown_model_class",
    /// Dicts and lists of the configuration are nested too deep.
    NestedTooDeep = "nested_too_deep",
    /// A configuration file can't be read, or holds nothing that prompts are made of.
    UnreadableConfig = "unreadable_config",
    /// A file of samples can't be read.
    UnreadableData = "unreadable_data",
    /// A file or folder holds several of what one is needed of, or doesn't say what it holds.
    UnclearChoice = "unclear_choice",
    /// An object in the configuration can't be read.
    UnreadableObject = "unreadable_object",
    /// A text of the configuration, or of JSON in the data, isn't Unicode.
    InvalidUnicode = "invalid_unicode",
    /// Neither a prompt template nor an ICE template is given.
    MissingTemplate = "missing_template",
    /// A template has no text.
    EmptyTemplate = "empty_template",
    /// A brace before a column's name isn't closed.
    UnclosedBrace = "unclosed_brace",
    /// The template hasn't the form that this inferencer or its own class needs.
    WrongTemplateForm = "wrong_template_form",
    /// Jinja2 can't compile the template.
    TemplateSyntax = "template_syntax",
    /// A Jinja template is larger, or does more, than is allowed.
    TemplateLimit = "template_limit",
    /// The meta template is a list where a dict with a round is needed, or is one that the dialect lacks.
    WrongMetaTemplateForm = "wrong_meta_template_form",
    /// The mode or the call doesn't go with this configuration.
    UnsupportedMode = "unsupported_mode",
    /// A template or a row can only be rendered by Jinja2, which `fallback="refuse"` forbids.
    NotCompiled = "not_compiled",
    /// The result depends on more rows than the call knows.
    DependsOnOtherRows = "depends_on_other_rows",
    /// Raw messages are to be rendered as text, which they have no form of.
    NoTextForm = "no_text_form",
    /// The label map has no such label.
    LabelNotInMap = "label_not_in_map",
    /// The label map is empty.
    EmptyLabelMap = "empty_label_map",
    /// Ppl mode has nothing to take its labels from.
    MissingLabels = "missing_labels",
    /// A label is asked for that the configuration doesn't render.
    UnknownLabel = "unknown_label",
    /// A turn's role isn't in the meta template, and nothing takes its place.
    UnknownRole = "unknown_role",
    /// A message's role is none of those that raw messages have.
    InvalidRole = "invalid_role",
    /// A role has no name in OpenAI's form.
    UnmappedRole = "unmapped_role",
    /// A role is defined twice.
    DuplicateRole = "duplicate_role",
    /// The meta template lacks a role that can't be done without.
    MissingRole = "missing_role",
    /// A role of the meta template has no name for messages.
    MissingApiRole = "missing_api_role",
    /// A role of the meta template has no text, and no turn gives it one.
    RoleWithoutPrompt = "role_without_prompt",
    /// A bare string stands where only a role can speak.
    StringWithoutRole = "string_without_role",
    /// A section marker isn't known or closes what never began, or a turn stands outside every section.
    InvalidSection = "invalid_section",
    /// A role that generates speaks outside the rounds.
    GenerationOutsideRound = "generation_outside_round",
    /// Nothing is said: there is no message.
    NoMessages = "no_messages",
    /// A message lacks its role or its content.
    IncompleteMessage = "incomplete_message",
    /// A message's content can't be merged with the meta template's.
    UnmergeableContent = "unmergeable_content",
    /// Two messages of one role follow each other, and their parts can't be joined.
    UnjoinableParts = "unjoinable_parts",
    /// A token id has no text.
    TokenWithoutText = "token_without_text",
    /// A token is empty, or stands for two things.
    InvalidToken = "invalid_token",
    /// A template needs an ICE token and names none.
    MissingIceToken = "missing_ice_token",
    /// The ICE token doesn't occur in its template.
    IceTokenNotInTemplate = "ice_token_not_in_template",
    /// There are examples to render, but no ICE template.
    MissingIceTemplate = "missing_ice_template",
    /// The retriever chooses examples, and none are given.
    MissingExamples = "missing_examples",
    /// In-context examples need an output column, and none is named.
    MissingOutputColumn = "missing_output_column",
    /// More examples are asked for than there are.
    TooFewExamples = "too_few_examples",
    /// An example's row number is outside the examples.
    ExampleIndexOutOfRange = "example_index_out_of_range",
    /// Examples of this form can't be joined, or can't stand in this prompt.
    IncompatibleExamples = "incompatible_examples",
    /// The template has no entry for a modality that a sample shows.
    MissingModality = "missing_modality",
    /// Two columns of the output would have one name.
    DuplicateOutputColumn = "duplicate_output_column",
    /// A placeholder names no column, and is probably a column's name misspelt.
    UnknownPlaceholder = "unknown_placeholder",
    /// The table lacks a column that is needed.
    MissingColumn = "missing_column",
    /// Two columns of a table have one name.
    DuplicateColumn = "duplicate_column",
    /// A column's name can't be handed over.
    InvalidColumnName = "invalid_column_name",
    /// The columns are too many or too few to make a chat of.
    WrongInputColumns = "wrong_input_columns",
    /// A column has another type than is needed there.
    WrongColumnType = "wrong_column_type",
    /// Values of an Arrow type have no text, or can't be handled at all.
    UnsupportedColumnType = "unsupported_column_type",
    /// A column's type is nested too deep.
    ColumnNestedTooDeep = "column_nested_too_deep",
    /// A batch's schema is another than that of the first batch.
    SchemaMismatch = "schema_mismatch",
    /// A value is null where there has to be one.
    NullValue = "null_value",
    /// A value is one that Python has no object for, or doesn't fit the type that it is needed in.
    UnconvertibleValue = "unconvertible_value",
    /// A text isn't UTF-8.
    InvalidUtf8 = "invalid_utf8",
    /// An Arrow array or table contradicts itself, or can't be taken over.
    MalformedArray = "malformed_array",
    /// The result, or a value that it is built from, is larger than one array can hold.
    OffsetOverflow = "offset_overflow",
    /// A configuration, a prompt or a batch is larger than `limits=` allows.
    LimitExceeded = "limit_exceeded",
    /// There isn't as much memory as the prompts take.
    OutOfMemory = "out_of_memory",
    /// No Arrow type holds the requests together; `output="messages_json"` holds anything.
    NoArrowType = "no_arrow_type",
    /// A value has no form in JSON.
    NoJsonForm = "no_json_form",
    /// There is no such row.
    RowOutOfRange = "row_out_of_range",
    /// The conversation doesn't ask for such a turn.
    TurnOutOfRange = "turn_out_of_range",
    /// A chat has no message of the assistant that could be written.
    NoAssistantMessage = "no_assistant_message",
    /// The model's replies aren't one string for each request.
    InvalidReplies = "invalid_replies",
    /// A modality is none of those that a sample can show.
    UnknownModality = "unknown_modality",
    /// A value is no URL, payload or list of them.
    InvalidMedia = "invalid_media",
    /// No column holds tagged text.
    NoTaggedText = "no_tagged_text",
    /// More than one column holds tagged text.
    AmbiguousTaggedText = "ambiguous_tagged_text",
    /// The data hold what `refuse=` names.
    RefusedFinding = "refused_finding",
    /// A Jinja template, or its engine, raises for a row.
    TemplateRaised = "template_raised",
    /// A chat template leaves out what no prompt may lack: what an assistant says and is trained, or what `refuse=` names.
    LeftOut = "left_out",
    /// A longer conversation changes the tokens of the shorter one.
    HistoryRewritten = "history_rewritten",
    /// It isn't known which bytes of a request data brought, or an assistant says.
    UnknownOrigin = "unknown_origin",
    /// Two requests would have one `custom_id`.
    DuplicateCustomId = "duplicate_custom_id",
    /// A `custom_id` is empty, or longer than services take.
    InvalidCustomId = "invalid_custom_id",
    /// A request is larger than a file of requests may be.
    RequestTooLarge = "request_too_large",
    /// A line of results is none, or of no row of the table.
    InvalidResult = "invalid_result",
    /// A compiled Jinja template and Jinja2 differ: a bug of promptpress, please report it.
    DiffersFromReference = "differs_from_reference",
    /// A bug of promptpress: please report it.
    InternalError = "internal_error",
}

#[cfg(test)]
mod tests {
    use super::Code;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_meanings_are_sentences() {
        let names: HashSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            let name = code.as_str();
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{name}");
            assert!(code.meaning().ends_with('.'), "{name}");
        }
    }
}
