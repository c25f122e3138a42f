"""Running several gateways: a cluster on one machine for a try, and files for containers."""
