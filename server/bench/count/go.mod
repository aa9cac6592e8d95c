module punchcard-count

go 1.26.0
