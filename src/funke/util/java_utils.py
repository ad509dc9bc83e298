"""PyFlink's helpers for Java objects: the one that programs use works, the others say that there is no JVM."""

from __future__ import annotations

from funke.common.java_handles import NO_GATEWAY, JavaConfiguration, JavaEnvironment
from funke.engine.errors import unsupported

__all__ = ["get_j_env_configuration", "is_local_deployment"]


def get_j_env_configuration(j_env: JavaEnvironment) -> JavaConfiguration:
    """Return the configuration behind `env._j_stream_execution_environment`; what is set in it, holds for the job."""
    return JavaConfiguration(j_env.settings)


def is_local_deployment(j_configuration: JavaConfiguration) -> bool:
    """Tell whether the configuration asks for Flink's embedded cluster."""
    return j_configuration.getString("execution.target") in ("local", "minicluster")


add_jars_to_context_class_loader = unsupported("add_jars_to_context_class_loader", NO_GATEWAY)
create_url_class_loader = unsupported("create_url_class_loader", NO_GATEWAY)
from_j_duration = unsupported("from_j_duration", NO_GATEWAY)
get_field = unsupported("get_field", NO_GATEWAY)
get_field_value = unsupported("get_field_value", NO_GATEWAY)
invoke_method = unsupported("invoke_method", NO_GATEWAY)
is_instance_of = unsupported("is_instance_of", NO_GATEWAY)
load_java_class = unsupported("load_java_class", NO_GATEWAY)
to_j_duration = unsupported("to_j_duration", NO_GATEWAY)
to_j_explain_detail_arr = unsupported("to_j_explain_detail_arr", NO_GATEWAY)
to_jarray = unsupported("to_jarray", NO_GATEWAY)
