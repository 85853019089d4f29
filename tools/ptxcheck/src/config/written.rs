//! The settings that stand in a configuration, as they are written, with their places.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::place;

/// Deepest nesting of tables that is followed.
const DEPTH: usize = 16;

/// A setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// `override[1].path`
    pub key: String,
    /// As it is written, in one line.
    pub value: String,
    /// 1-based line of its key.
    pub line: usize,
    /// 1-based column of its key.
    pub column: usize,
}

/// All settings of a file that can be read, in the order of the file.
#[must_use]
pub fn settings(text: &str) -> Vec<Setting> {
    let Ok(file) = DeTable::parse(text) else {
        return Vec::new();
    };
    let mut found: Vec<(usize, Setting)> = Vec::new();
    in_table(text, "", file.get_ref(), 0, &mut found);
    found.sort_by_key(|(offset, _)| *offset);
    found.into_iter().map(|(_, setting)| setting).collect()
}

fn in_table(text: &str, path: &str, table: &DeTable<'_>, depth: usize, found: &mut Vec<(usize, Setting)>) {
    if depth > DEPTH {
        return;
    }
    for (key, value) in table {
        let name = quoted(key.get_ref());
        let path = if path.is_empty() {
            name
        } else {
            format!("{path}.{name}")
        };
        let tables = value.get_ref().as_array().filter(|array| {
            !array.is_empty()
                && array
                    .iter()
                    .all(|value| matches!(value.get_ref(), DeValue::Table(_)))
        });
        match (value.get_ref(), tables) {
            (DeValue::Table(table), _) => in_table(text, &path, table, depth + 1, found),
            (_, Some(tables)) => {
                for (number, one) in tables.iter().enumerate() {
                    if let DeValue::Table(table) = one.get_ref() {
                        in_table(text, &format!("{path}[{}]", number + 1), table, depth + 1, found);
                    }
                }
            }
            _ => {
                let offset = key.span().start;
                let (line, column) = place(text, offset);
                let setting = Setting {
                    key: path,
                    value: written(text, value),
                    line,
                    column,
                };
                found.push((offset, setting));
            }
        }
    }
}

/// The text of a value, without line ends.
fn written(text: &str, value: &Spanned<DeValue<'_>>) -> String {
    let lines = text.get(value.span()).unwrap_or_default().lines();
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// A key as it can be written before a dot.
fn quoted(key: &str) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if !key.is_empty() && key.chars().all(is_bare) {
        key.to_owned()
    } else {
        format!("{key:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::settings;

    #[test]
    fn settings_are_listed_in_the_order_of_the_file() {
        let text = "[rules]\nPTX602 = \"allow\"\n\"G-2.1\" = \"error\"\n[[override]]\npath = [\n  \"a\",\n  \"b\",\n]\n\
                    rules = { warp = \"allow\" }\n[[override]]\nkernel = \"k*\"\n[launch.\"_Z*\"]\nblock = [32]\n";
        let listed: Vec<String> = settings(text)
            .iter()
            .map(|setting| {
                format!(
                    "{}:{} {} = {}",
                    setting.line, setting.column, setting.key, setting.value
                )
            })
            .collect();
        assert_eq!(
            listed,
            [
                "2:1 rules.PTX602 = \"allow\"",
                "3:1 rules.\"G-2.1\" = \"error\"",
                "5:1 override[1].path = [ \"a\", \"b\", ]",
                "9:11 override[1].rules.warp = \"allow\"",
                "11:1 override[2].kernel = \"k*\"",
                "13:1 launch.\"_Z*\".block = [32]",
            ]
        );
        assert_eq!(settings("x = ["), []);
    }
}
