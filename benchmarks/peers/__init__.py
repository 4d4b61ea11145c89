"""Other engines: functions of a Problem that return what a study prepares and times."""
