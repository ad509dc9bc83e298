"""A Kerberos KDC and an HDFS that lets in only those who have logged in, on loopback, in one Java process.

They are Hadoop's own classes, as in `hadoop_cluster`.
"""

from __future__ import annotations

import contextlib
import glob
from pathlib import Path
from typing import Any

from tests.harness.hadoop_cluster import HadoopUnavailableError
from tests.harness.jars import fetched_jars

__all__ = ["KerberosHdfs"]

_OPTIONS = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
_SERVER = "hdfs/localhost"


class KerberosHdfs:
    """Runs until it is closed; `settings` are those of its clients."""

    def __init__(self, folder: Path) -> None:
        import pyspark
        from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

        spark = Path(pyspark.__file__).parent / "jars"
        self.folder = folder
        self._log = (folder / "log.txt").open("w")
        port, token = launch_gateway(
            jarpath=glob.glob(f"{spark}/py4j*.jar")[0],
            classpath=f"{fetched_jars('hadoop', HadoopUnavailableError)}/*:{spark}/*",
            javaopts=[*_OPTIONS, f"-Dtest.build.data={folder}/data", f"-Dhadoop.log.dir={folder}/logs"],
            die_on_exit=True,
            enable_auth=True,
            redirect_stdout=self._log,
            redirect_stderr=self._log,
        )
        parameters = GatewayParameters(port=port, auth_token=token, auto_convert=True)
        self._gateway = JavaGateway(gateway_parameters=parameters)
        java = self._gateway.jvm
        self._kdc = java.org.apache.hadoop.minikdc.MiniKdc(
            java.org.apache.hadoop.minikdc.MiniKdc.createConf(), java.java.io.File(str(folder))
        )
        self._kdc.start()
        self.realm = str(self._kdc.getRealm())
        self.krb5_conf = str(self._kdc.getKrb5conf().getAbsolutePath())
        principal = f"{_SERVER}@{self.realm}"
        self.settings = {
            "hadoop.security.authentication": "kerberos",
            "dfs.namenode.kerberos.principal": principal,
            "dfs.datanode.kerberos.principal": principal,
        }
        self._hdfs = self._start_hdfs(java.org.apache.hadoop, self.keytab("hdfs", _SERVER, "HTTP/localhost"))
        self.address = str(self._hdfs.getURI().toString())
        root = java.org.apache.hadoop.fs.Path("/")
        everyone = java.org.apache.hadoop.fs.permission.FsPermission("777")
        self._hdfs.getFileSystem().setPermission(root, everyone)

    def keytab(self, name: str, *principals: str) -> Path:
        """A file with the keys of principals, which are made."""
        path = self.folder / f"{name}.keytab"
        names = self._gateway.new_array(self._gateway.jvm.java.lang.String, len(principals))
        for index, principal in enumerate(principals):
            names[index] = principal
        self._kdc.createPrincipal(self._gateway.jvm.java.io.File(str(path)), names)
        return path

    def _start_hdfs(self, hadoop: Any, keytab: Path) -> Any:
        settings = hadoop.conf.Configuration()
        own = {
            "hdfs.minidfs.basedir": self.folder / "hdfs",
            "dfs.namenode.keytab.file": keytab,
            "dfs.datanode.keytab.file": keytab,
            "dfs.web.authentication.kerberos.principal": f"HTTP/localhost@{self.realm}",
            "dfs.web.authentication.kerberos.keytab": keytab,
            "dfs.block.access.token.enable": "true",
            # A DataNode would want ports that only root may take.
            "ignore.secure.ports.for.testing": "true",
        }
        for key, value in {**self.settings, **own}.items():
            settings.set(key, str(value))
        hadoop.security.UserGroupInformation.setConfiguration(settings)
        started = getattr(hadoop.hdfs, "MiniDFSCluster$Builder")(settings).numDataNodes(1).build()
        started.waitActive()
        return started

    def owner(self, path: str) -> str:
        """To whom a file belongs."""
        status = self._hdfs.getFileSystem().getFileStatus(self._gateway.jvm.org.apache.hadoop.fs.Path(path))
        return str(status.getOwner())

    def close(self) -> None:
        """Ends all of it."""
        with contextlib.suppress(Exception):
            self._hdfs.shutdown(True)
            self._kdc.stop()
        self._gateway.shutdown()
        self._log.close()
