//! Marks from the results of a SARIF 2.1.0 file: ours, or another tool's.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use ptxcheck_passes::rule::Level;
use ptxcheck_passes::scope::clean;
use ptxcheck_report::escape;
use ptxcheck_report::marks::{Mark, OtherPlace, Region};
use serde::Deserialize;

use super::uris;

/// Largest file that is read, in bytes.
const MAX_FILE: u64 = 256 << 20;

/// Most other places of a mark.
const MAX_OTHERS: usize = 32;

#[derive(Deserialize)]
struct Log {
    #[serde(default)]
    runs: Vec<Run>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Tool,
    #[serde(default)]
    original_uri_base_ids: BTreeMap<String, Artifact>,
    #[serde(default)]
    results: Option<Vec<SarifResult>>,
}

#[derive(Deserialize)]
struct Tool {
    driver: Driver,
}

#[derive(Deserialize)]
struct Driver {
    #[serde(default)]
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: String,
    help_uri: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult {
    #[serde(default)]
    rule_id: String,
    level: Option<String>,
    message: Text,
    #[serde(default)]
    locations: Vec<Location>,
    #[serde(default)]
    related_locations: Vec<Location>,
    #[serde(default)]
    code_flows: Vec<CodeFlow>,
    #[serde(default)]
    suppressions: Option<Vec<serde::de::IgnoredAny>>,
}

#[derive(Default, Deserialize)]
struct Text {
    #[serde(default)]
    text: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: Option<PhysicalLocation>,
    message: Option<Text>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: Option<Artifact>,
    region: Option<SarifRegion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    uri: Option<String>,
    uri_base_id: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SarifRegion {
    start_line: Option<u32>,
    start_column: Option<u32>,
    end_line: Option<u32>,
    end_column: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CodeFlow {
    #[serde(default)]
    thread_flows: Vec<ThreadFlow>,
}

#[derive(Deserialize)]
struct ThreadFlow {
    #[serde(default)]
    locations: Vec<ThreadFlowLocation>,
}

#[derive(Deserialize)]
struct ThreadFlowLocation {
    location: Option<Location>,
}

/// Reads the marks of a file; `root`: the folder that paths without a base are relative to.
///
/// # Errors
///
/// A sentence about a file that can't be read.
pub(super) fn read(file: &Path, root: &Path) -> Result<Vec<Mark>, String> {
    let name = escape::line(&file.to_string_lossy()).into_owned();
    let wrong = |problem: &dyn std::fmt::Display| format!("`{name}` can't be read: {problem}");
    let size = fs::metadata(file).map_err(|error| wrong(&error))?.len();
    if size > MAX_FILE {
        return Err(format!("`{name}` is larger than {MAX_FILE} bytes"));
    }
    let opened = File::open(file).map_err(|error| wrong(&error))?;
    let log: Log = serde_json::from_reader(BufReader::new(opened)).map_err(|error| wrong(&error))?;
    Ok(log.runs.iter().flat_map(|run| run.marks(root)).collect())
}

impl Run {
    fn marks(&self, root: &Path) -> Vec<Mark> {
        let results = self.results.iter().flatten();
        let counted = results.filter(|result| result.suppressions.as_ref().is_none_or(Vec::is_empty));
        counted.filter_map(|result| self.mark(result, root)).collect()
    }

    fn mark(&self, result: &SarifResult, root: &Path) -> Option<Mark> {
        let (file, region) = self.place(result.locations.first()?, root)?;
        let flows = result.code_flows.iter().flat_map(|flow| &flow.thread_flows);
        let steps = flows
            .flat_map(|flow| &flow.locations)
            .filter_map(|step| step.location.as_ref());
        let others = result
            .related_locations
            .iter()
            .chain(steps)
            .filter_map(|location| {
                let (file, region) = self.place(location, root)?;
                let message = location.message.as_ref().map_or("", |message| &message.text);
                Some(OtherPlace {
                    file,
                    region,
                    message: escape::line(message).into_owned(),
                })
            });
        let rule = self
            .tool
            .driver
            .rules
            .iter()
            .find(|rule| rule.id == result.rule_id);
        Some(Mark {
            file,
            region,
            level: match result.level.as_deref() {
                Some("error") => Level::Error,
                _ => Level::Warning,
            },
            code: result.rule_id.clone(),
            page: rule.and_then(|rule| rule.help_uri.clone()),
            message: result.message.text.clone(),
            others: others.take(MAX_OTHERS).collect(),
        })
    }

    /// The file, as an absolute path, and the range.
    fn place(&self, location: &Location, root: &Path) -> Option<(String, Region)> {
        let place = location.physical_location.as_ref()?;
        let artifact = place.artifact_location.as_ref()?;
        let uri = artifact.uri.as_deref()?;
        let path = match uris::path_of(uri) {
            Some(path) => path,
            None if uri.contains("://") => return None,
            None => self.base(artifact, root).join(uris::decoded(uri)),
        };
        let region = place.region.unwrap_or(SarifRegion {
            start_line: None,
            start_column: None,
            end_line: None,
            end_column: None,
        });
        let line = region.start_line.unwrap_or(1).max(1);
        let end_line = region.end_line.unwrap_or(line).max(line);
        let column = region.start_column.unwrap_or(1).max(1);
        let least = if end_line == line { column } else { 1 };
        // Without an end, the rest of the line.
        let end_column = region.end_column.unwrap_or(u32::MAX).max(least);
        let region = Region {
            line,
            column,
            end_line,
            end_column,
        };
        Some((clean(&path.to_string_lossy()), region))
    }

    /// The folder that the path of an artifact is relative to.
    fn base(&self, artifact: &Artifact, root: &Path) -> PathBuf {
        let base = artifact.uri_base_id.as_ref();
        let base = base.and_then(|base| self.original_uri_base_ids.get(base)?.uri.as_deref());
        base.and_then(uris::path_of).unwrap_or_else(|| root.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::read;

    fn read_text(text: &str) -> Result<Vec<super::Mark>, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.sarif");
        fs::write(&file, text).unwrap();
        read(&file, Path::new("/root"))
    }

    #[test]
    fn results_have_places_pages_and_other_places() {
        let text = r#"{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t","rules":[{"id":"R1","helpUri":"https://x/R1"}]}},
            "originalUriBaseIds":{"%SRCROOT%":{"uri":"file:///src%20x/"}},
            "results":[
            {"ruleId":"R1","level":"error","message":{"text":"bad"},"locations":[{"physicalLocation":
              {"artifactLocation":{"uri":"a/k.cu","uriBaseId":"%SRCROOT%"},"region":{"startLine":4,"startColumn":3,"endColumn":9}}}],
              "relatedLocations":[{"physicalLocation":{"artifactLocation":{"uri":"../b.cu"},"region":{"startLine":2}},
              "message":{"text":"there"}},{"message":{"text":"nowhere"}}]},
            {"ruleId":"R1","message":{"text":"known"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"k.cu"}}}],
              "suppressions":[{"kind":"inSource"}]},
            {"message":{"text":"no place"}},
            {"message":{"text":"far"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"http://x/k.cu"}}}]}
            ]}]}"#;
        let marks = read_text(text).unwrap();
        let [mark] = marks.as_slice() else {
            panic!("{marks:?}")
        };
        assert_eq!(
            (mark.file.as_str(), mark.code.as_str(), mark.page.as_deref()),
            ("/src x/a/k.cu", "R1", Some("https://x/R1"))
        );
        let region = mark.region;
        assert_eq!(
            (region.line, region.column, region.end_line, region.end_column),
            (4, 3, 4, 9)
        );
        let [other] = mark.others.as_slice() else {
            panic!("{mark:?}")
        };
        assert_eq!(
            (other.file.as_str(), other.region.line, other.region.end_column),
            ("/b.cu", 2, u32::MAX)
        );
    }

    #[test]
    fn other_files_are_sentences() {
        for text in [
            "",
            "[",
            "3",
            "{\"runs\":[{}]}",
            "{\"runs\":[{\"tool\":{\"driver\":{}},\"results\":[{}]}]}",
        ] {
            assert!(read_text(text).unwrap_err().contains("can't be read"), "{text}");
        }
        assert_eq!(read_text("{}").unwrap(), []);
        let none = "{\"runs\":[{\"tool\":{\"driver\":{}},\"results\":null}]}";
        assert_eq!(read_text(none).unwrap(), []);
    }
}
