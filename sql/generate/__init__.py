"""What `make sql` runs: the bundle and the files of the dbt package, written from the package's functions and queries."""
