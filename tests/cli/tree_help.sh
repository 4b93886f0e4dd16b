memspy tree --help
