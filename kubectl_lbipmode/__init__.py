"""Make LoadBalancer traffic go through the load balancer: declare and keep its ``ipMode``."""

__version__ = "0.1.0"
