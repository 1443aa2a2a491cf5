-- The store of a fleet, fleet.sqlite. docs/fleet.md describes it.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  started TEXT NOT NULL,
  ended TEXT,
  npuify TEXT NOT NULL,
  language TEXT NOT NULL,
  list TEXT NOT NULL,
  asked TEXT NOT NULL
);
CREATE TABLE project (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  place TEXT NOT NULL,
  is_git INTEGER NOT NULL
);
CREATE TABLE result (
  id INTEGER PRIMARY KEY,
  project INTEGER NOT NULL REFERENCES project,
  made TEXT NOT NULL,
  seconds REAL NOT NULL,
  fingerprint TEXT NOT NULL,
  revision TEXT NOT NULL,
  page TEXT NOT NULL,
  fault TEXT, message TEXT, advice TEXT,
  level TEXT, title TEXT, summary TEXT,
  hours_low REAL, hours_likely REAL, hours_high REAL,
  files INTEGER, bytes INTEGER, torch_npu TEXT,
  migrated INTEGER, review INTEGER, manual INTEGER, notes INTEGER, errors INTEGER
);
CREATE INDEX result_of_project ON result (project);
CREATE TABLE obstacle (
  result INTEGER NOT NULL REFERENCES result,
  kind TEXT NOT NULL, decision TEXT NOT NULL, what TEXT NOT NULL, why TEXT NOT NULL, advice TEXT NOT NULL,
  places INTEGER NOT NULL
);
CREATE INDEX obstacle_of_result ON obstacle (result);
CREATE TABLE operator (result INTEGER NOT NULL REFERENCES result, name TEXT NOT NULL, places INTEGER NOT NULL);
CREATE INDEX operator_of_result ON operator (result);
CREATE TABLE code (result INTEGER NOT NULL REFERENCES result, code TEXT NOT NULL, count INTEGER NOT NULL);
CREATE INDEX code_of_result ON code (result);
CREATE TABLE member (
  run INTEGER NOT NULL REFERENCES run,
  position INTEGER NOT NULL,
  project INTEGER NOT NULL REFERENCES project,
  name TEXT NOT NULL,
  wanted TEXT NOT NULL,
  result INTEGER REFERENCES result,
  PRIMARY KEY (run, project)
);
CREATE TABLE migration (
  project INTEGER PRIMARY KEY REFERENCES project,
  made TEXT NOT NULL,
  way TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  revision TEXT NOT NULL,
  place TEXT NOT NULL,
  fault TEXT, message TEXT, advice TEXT,
  changed_files INTEGER, changes INTEGER, left INTEGER, commit_made TEXT
);
