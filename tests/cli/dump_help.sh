memspy dump --help
