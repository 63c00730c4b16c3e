"""The busiest five minutes of a week in a Prometheus, as a workload to plan for."""
