//! Shards as JSON lines: one with the data of the whole shard, then one for each input and each finding. Files of several shards may be
//! concatenated, as the output of concurrent jobs is.

use std::io::{self, BufRead};

use serde::{Deserialize, Serialize};

use super::{Head, Place, Shard, ShardFinding};
use crate::inventory::InputReport;

/// A line, to be written.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Written<'a> {
    Shard(&'a Head),
    Input(&'a (Place, InputReport)),
    Finding(&'a ShardFinding),
}

/// A line that was read.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Read {
    Shard(Box<Head>),
    Input(Box<(Place, InputReport)>),
    Finding(Box<ShardFinding>),
}

/// The ways in which lines are not shards.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The stream fails.
    #[error(transparent)]
    Stream(#[from] io::Error),
    /// A line, counted from 1, is something else.
    #[error("line {0}: {1}")]
    Line(usize, String),
    /// A shard has fewer or more lines than its first one says.
    #[error("shard {0} is not whole")]
    Part(u32),
}

impl Shard {
    /// The lines of the shard, each with its line end.
    ///
    /// # Errors
    ///
    /// None in practice: the data holds nothing that JSON can't say.
    pub fn lines(&self) -> impl Iterator<Item = serde_json::Result<String>> {
        let inputs = self.inputs.iter().map(Written::Input);
        let findings = self.findings.iter().map(Written::Finding);
        let lines = std::iter::once(Written::Shard(&self.head))
            .chain(inputs)
            .chain(findings);
        lines.map(|line| {
            let mut text = serde_json::to_string(&line)?;
            text.push('\n');
            Ok(text)
        })
    }

    /// The shards whose lines these are.
    ///
    /// # Errors
    ///
    /// A [`ReadError`], if the stream fails or holds anything else than whole shards.
    pub fn read(stream: &mut impl BufRead) -> Result<Vec<Self>, ReadError> {
        let mut shards: Vec<Self> = Vec::new();
        let mut text = String::new();
        for number in 1.. {
            text.clear();
            if stream.read_line(&mut text)? == 0 {
                break;
            }
            let line =
                serde_json::from_str(&text).map_err(|error| ReadError::Line(number, error.to_string()))?;
            let shard = shards.last_mut();
            match (line, shard) {
                (Read::Shard(head), before) => {
                    before.map_or(Ok(()), |shard| shard.is_whole())?;
                    shards.push(Self {
                        head: *head,
                        inputs: Vec::new(),
                        findings: Vec::new(),
                    });
                }
                (Read::Input(input), Some(shard)) => shard.inputs.push(*input),
                (Read::Finding(finding), Some(shard)) => shard.findings.push(*finding),
                (Read::Input(_) | Read::Finding(_), None) => {
                    return Err(ReadError::Line(number, "no shard begins before it".to_owned()));
                }
            }
        }
        shards.last().map_or(Ok(()), Self::is_whole)?;
        Ok(shards)
    }

    /// It has as many lines as it says.
    fn is_whole(&self) -> Result<(), ReadError> {
        let counted = (self.inputs.len(), self.findings.len());
        match counted == (self.head.inputs, self.head.findings) {
            true => Ok(()),
            false => Err(ReadError::Part(self.head.deal.number)),
        }
    }
}
