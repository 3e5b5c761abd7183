"""`viewkeeper` as a format of Spark."""

from __future__ import annotations

from collections.abc import MutableMapping

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructField, StructType

from viewkeeper.errors import BadParameter
from viewkeeper.pipeline.sparktypes import spark_type
from viewkeeper.spark.changereader import ChangeReader, change_schema
from viewkeeper.spark.tablereader import table_reader
from viewkeeper.spark.target import READ, STREAM, find, standing, visible_columns, whole_number


class Viewkeeper(DataSource):
    """Register it once a session: `spark.dataSource.register(vk.spark.Viewkeeper)`.

    Spark makes one when `load()` is called, which is when the table is looked up and its position chosen.
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._streams = "changes" in options
        if self._streams == ("table" in options):
            raise BadParameter(
                'one of the options "table" and "changes" has to be given',
                detail='spark.read takes "table", spark.readStream takes "changes".',
            )
        if self._streams:
            self._target = find(options, "changes", STREAM)
            self._offset = 0
        else:
            self._target = find(options, "table", READ)
            self._offset = standing(self._target, self._target.store(), options.get("asOf"))

    @classmethod
    def name(cls) -> str:
        return "viewkeeper"

    def schema(self) -> StructType:
        codec = self._target.codec(self._target.store())
        if self._streams:
            return change_schema(self._target, codec)
        columns = visible_columns(codec)
        if "columns" in self.options:
            wanted = [name.strip() for name in self.options["columns"].split(",")]
            columns = tuple(columns[codec.table.column_id(name)] for name in wanted)
        return StructType([StructField(column.name, spark_type(column.type)) for column in columns])

    def reader(self, schema: StructType) -> DataSourceReader:
        if self._streams:
            raise BadParameter('option "changes" is for spark.readStream', hint='Give "table" to read rows.')
        return table_reader(self._target, self._offset, schema, whole_number(self.options, "partitions"))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 (Spark's name)
        if not self._streams:
            raise BadParameter('option "table" is for spark.read', hint='Give "changes" to follow a table or view.')
        return ChangeReader(self._target, self.options, schema)
