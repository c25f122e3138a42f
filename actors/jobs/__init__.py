"""Jobs: work that runs beside the requests, such as expiry, erasing and ingestion."""
